// The nabla contestant of run.py: answers one question as often as it is asked.
//
//	nabla OP PROGRAM WRT INPUTS.npz
//
// Each line of stdin asks for that many answers; each answer is recorded, planned and
// run from the program's tree. It replies with nanoseconds an answer and the sum of the
// derivative's elements.
package main

import (
	"fmt"
	"log"
	"os"
	"runtime/debug"
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
	op, text, wrt, inputs := os.Args[1], os.Args[2], strings.Split(os.Args[3], ","), os.Args[4]
	prog, err := expr.Parse("", text)
	check(err)
	q := &tape.Question{Prog: prog, Op: op, Wrt: wrt}

	f, err := os.Open(inputs)
	check(err)
	info, err := f.Stat()
	check(err)
	arrays, err := npy.OpenNPZ(f, info.Size())
	check(err)
	for _, name := range arrays.Names {
		x, _, err := arrays.Read(name, 1<<34)
		check(err)
		q.Inputs = append(q.Inputs, tape.Input{Name: name, Value: tensor.Of(x)})
	}

	fmt.Println("ready", "")
	for {
		var calls int
		if _, err := fmt.Scan(&calls); err != nil {
			return
		}
		var a *tape.Answer
		start := time.Now()
		for range calls {
			a, err = q.Answer()
			check(err)
		}
		fmt.Println(time.Since(start).Nanoseconds()/int64(calls), sum(a.Targets[0].Payload))
	}
}

func sum(v *tensor.Value) (s float64) {
	if v.Tensor != nil {
		for _, x := range v.Tensor.Data {
			s += x
		}
	}
	for _, x := range v.List {
		s += sum(x)
	}
	for _, x := range v.Fields {
		s += sum(x.Value)
	}
	return s
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
