package input

import (
	"sync"
	"sync/atomic"
)

// Numbers are read ahead of the parser, on several threads: pieces of the text are searched for runs of
// numbers, each as any parser would read it that comes to its first byte for a value. The parser takes
// those that it comes to, and reads everything else itself, so that what it accepts and what it says of
// mistakes is the same. 20 MB of one array take 0.65 times the time of a process on two threads.
var (
	aheadNumbers = 4096    // of a tensor, after which more are expected
	aheadText    = 1 << 21 // bytes that are read ahead at once, from here on
	aheadLeast   = 1 << 19 // fewer are not worth it
	aheadPiece   = 1 << 17 // bytes of a piece
)

// An ahead is what has been read ahead of a text.
type ahead struct {
	pieces []piece
	piece  int // the one that the parser is in
	run    int // its first run that the parser has not come to
	end    int // the byte up to which all is read
}

// A piece is the numbers that begin in some bytes of a text.
type piece struct {
	numbers []float64
	runs    []numberRun
}

// A numberRun is numbers with a comma between them, which stand at b[start:end].
type numberRun struct {
	start, end int
	to         int // the number after the last one, of its piece
}

// read reads ahead from byte i of b on, where a number may stand.
func (a *ahead) read(b []byte, i, threads int) {
	a.end = min(i+aheadText, len(b))
	n := (a.end - i + aheadPiece - 1) / aheadPiece
	for len(a.pieces) < n {
		a.pieces = append(a.pieces, piece{numbers: make([]float64, 0, aheadPiece/8)})
	}
	a.pieces, a.piece, a.run = a.pieces[:n], 0, 0
	var next atomic.Int32
	work := func() {
		for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
			from := i + k*aheadPiece
			a.pieces[k].read(b, from, min(from+aheadPiece, a.end), k == 0)
		}
	}
	var others sync.WaitGroup
	for range min(threads, n) - 1 {
		others.Add(1)
		go func() {
			defer others.Done()
			work()
		}()
	}
	work()
	others.Wait()
}

// read reads the numbers that begin in b[i:end], if one may stand at i, or else behind the first place
// after which one may.
func (p *piece) read(b []byte, i, end int, here bool) {
	p.numbers, p.runs = p.numbers[:0], p.runs[:0]
	if !here {
		for i--; i > 0 && isSpace(b[i]); i-- {
		}
		i = afterDelimiter(b, i, end)
	}
	for i < end {
		i = afterSpace(b, i)
		run := numberRun{start: i}
		for i < end {
			f, to, ok := number(b, i)
			if !ok || f-f != 0 {
				break
			}
			p.numbers = append(p.numbers, f)
			run.end = to
			if i = afterSpace(b, to); i == len(b) || b[i] != ',' {
				break
			}
			i = afterSpace(b, i+1)
		}
		if run.end > 0 {
			run.to = len(p.numbers)
			p.runs = append(p.runs, run)
		}
		if i >= end {
			return
		}
		i = afterDelimiter(b, i, end)
	}
}

// afterDelimiter is behind the first byte of b[i:end] behind which a number may stand, or end.
func afterDelimiter(b []byte, i, end int) int {
	for ; i < end; i++ {
		if b[i] == ',' || b[i] == '[' {
			return i + 1
		}
	}
	return end
}

// at is the numbers of the run that begins at byte i, and where it ends; or nil.
func (a *ahead) at(i int) (numbers []float64, end int) {
	for ; a.piece < len(a.pieces); a.piece, a.run = a.piece+1, 0 {
		p := &a.pieces[a.piece]
		for ; a.run < len(p.runs); a.run++ {
			r := p.runs[a.run]
			if r.start > i {
				return nil, 0
			}
			if r.start == i {
				from := 0
				if a.run > 0 {
					from = p.runs[a.run-1].to
				}
				return p.numbers[from:r.to], r.end
			}
		}
	}
	return nil, 0
}

// expected is the numbers that have been read from byte i on, where a value of a tensor with so many
// numbers before it begins, and where they end; or nil.
func (p *parser) expected(i, before int) (numbers []float64, end int) {
	if p.threads > 1 && i >= p.ahead.end && before >= aheadNumbers && len(p.b)-i >= aheadLeast {
		p.ahead.read(p.b, i, p.threads)
	}
	if i < p.ahead.end {
		return p.ahead.at(i)
	}
	return nil, 0
}
