// The nabla contestant of run.py and scan.py: answers one question as often as it is asked.
//
//	nabla OP PROGRAM WRT INPUTS.npz            recorded, planned and run from the program's tree each time
//	nabla                                      prepared: recorded once
//
// Each line of stdin asks for that many answers. The reply is nanoseconds an answer and, of the first, the sum of
// the derivative's elements. The second takes its questions from stdin too, each a line of JSON with op, program, wrt,
// inputs, and out, a file for the derivative's elements as they lie in memory.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"nabla/expr"
	"nabla/output/npy"
	"nabla/tape"
	"nabla/tape/tensor"
)

func main() {
	log.SetFlags(0)
	debug.SetGCPercent(200) // as the command does
	if len(os.Args) == 1 {
		prepared()
		return
	}
	q := question(os.Args[1], os.Args[2], strings.Split(os.Args[3], ","), os.Args[4])
	fmt.Println("ready", "")
	for {
		var calls int
		if _, err := fmt.Scan(&calls); err != nil {
			return
		}
		a, took := answers(calls, q.Answer)
		fmt.Println(took, sum(a.Targets[0].Payload))
	}
}

// prepared answers one question after the other.
func prepared() {
	var next func() (*tape.Answer, error)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if calls, err := strconv.Atoi(lines.Text()); err == nil {
			_, took := answers(calls, next)
			fmt.Println(took)
			continue
		}
		var asked struct {
			Op, Program, Inputs, Out string
			Wrt                      []string
		}
		check(json.Unmarshal(lines.Bytes(), &asked))
		q := question(asked.Op, asked.Program, asked.Wrt, asked.Inputs)
		p := q.Prepare()
		next = func() (*tape.Answer, error) { return p.Answer(q.Inputs) }
		a, err := next()
		if err != nil {
			fmt.Println("error:", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		f, err := os.Create(asked.Out)
		check(err)
		eachTensor(a.Targets[0].Payload, func(x []float64) { check(binary.Write(f, binary.LittleEndian, x)) })
		check(f.Close())
		fmt.Println("ready")
	}
}

// question is about a program, with inputs from a file.
func question(op, text string, wrt []string, inputs string) *tape.Question {
	prog, err := expr.Parse("", text)
	check(err)
	q := &tape.Question{Prog: prog, Op: op, Wrt: wrt}
	f, err := os.Open(inputs)
	check(err)
	defer f.Close()
	info, err := f.Stat()
	check(err)
	arrays, err := npy.OpenNPZ(f, info.Size())
	check(err)
	for _, name := range arrays.Names {
		x, _, err := arrays.Read(name, 1<<34)
		check(err)
		q.Inputs = append(q.Inputs, tape.Input{Name: name, Value: tensor.Of(x)})
	}
	return q
}

// answers is the last of so many answers, and how many nanoseconds each took.
func answers(calls int, next func() (*tape.Answer, error)) (a *tape.Answer, took int64) {
	start := time.Now()
	for i := range calls {
		if i > 0 {
			a.Release()
		}
		var err error
		a, err = next()
		check(err)
	}
	return a, time.Since(start).Nanoseconds() / int64(calls)
}

func sum(v *tensor.Value) (s float64) {
	eachTensor(v, func(data []float64) {
		for _, x := range data {
			s += x
		}
	})
	return s
}

// eachTensor visits the numbers of a value.
func eachTensor(v *tensor.Value, visit func(data []float64)) {
	if v.Tensor != nil {
		visit(v.Tensor.Data)
	}
	for _, x := range v.List {
		eachTensor(x, visit)
	}
	for _, x := range v.Fields {
		eachTensor(x.Value, visit)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
