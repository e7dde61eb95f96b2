//go:build !purego && (linux || darwin)

package kernels

import order "encoding/binary"

// Machine code of amd64 as far as Lines need it: AVX2 with VEX prefixes, AVX-512 with EVEX
// prefixes. The encodings are those of Intel's Software Developer's Manual, volume 2,
// sections 2.3 and 2.7.

// An operand is a register, or numbers in memory.
type operand struct {
	reg    int8 // of vectors; -1: memory
	base   gp   // or inPool
	index  gp   // noIndex; in bytes, or in numbers where scaled, or in halves of what is wide
	scaled bool
	wide   bool  // float64 where others are float32
	same   bool  // one number for all lanes
	at     int32 // displacement, or the constant's place in the pool
}

// A gp is a general register.
type gp int8

const (
	rax gp = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
	inPool
	noIndex gp = rsp // as the encoding has it
)

func register(r int8) operand { return operand{reg: r} }

func memory(base gp, at int32) operand { return operand{reg: -1, base: base, index: noIndex, at: at} }

// An opcode is an instruction: its map, mandatory prefix, opcode byte and W.
type opcode struct {
	mm, pp, op byte
	w          byte
}

const (
	none, p66, pF3, pF2 = 0, 1, 2, 3
	m0F, m0F38, m0F3A   = 1, 2, 3
)

// A code is machine code while it is written.
type code struct {
	text  []byte
	pool  []uint64 // constants, poolWords words each
	fixes []fix    // where the text has distances that are not known yet
	marks []int    // where labels are
}

type fix struct {
	at    int // the four bytes before it
	label int // -1: into the pool
}

// poolWords is the length of a constant: the longest vector.
const poolWords = 8

// A length is that of vectors.
type length byte

const (
	one   length = iota // the lowest number of 128 bits
	four                // 256 bits
	eight               // 512 bits
)

func (l length) lanes() int { return [...]int{1, 4, 8}[l] }

// registers is how many there are of vectors.
func (l length) registers() int8 {
	if l == eight {
		return 32
	}
	return 16
}

// constant is a word in all lanes.
func (c *code) constant(w uint64) operand {
	var v [poolWords]uint64
	for i := range v {
		v[i] = w
	}
	return c.words(v)
}

// words is the place of constants, which the pool holds once.
func (c *code) words(v [poolWords]uint64) operand {
	for i := 0; i < len(c.pool); i += poolWords {
		if [poolWords]uint64(c.pool[i:]) == v {
			return operand{reg: -1, base: inPool, at: int32(8 * i)}
		}
	}
	c.pool = append(c.pool, v[:]...)
	return operand{reg: -1, base: inPool, at: int32(8 * (len(c.pool) - poolWords))}
}

// vector writes an instruction with registers dst and src, and a third operand; src is 0
// where there is none. k is a mask register of EVEX, whose lanes that are not set become
// zero or stay; imm follows, if not negative.
func (c *code) vector(o opcode, l length, dst, src int8, rm operand, k byte, zero bool, imm int) {
	x, b := int8(0), int8(0)
	switch {
	case rm.reg >= 0:
		x, b = rm.reg>>4&1, rm.reg>>3&1
	case rm.base != inPool:
		x, b = int8(rm.index)>>3&1, int8(rm.base)>>3&1
	}
	ext := byte(^dst>>3&1<<7 | ^x&1<<6 | ^b&1<<5)
	if l == eight {
		z := byte(0)
		if zero {
			z = 0x80
		}
		c.bytes(0x62, ext&0xe0|byte(^dst>>4&1<<4)|o.mm, o.w<<7|byte(^src&15)<<3|4|o.pp, z|2<<5|byte(^src>>4&1)<<3|k)
	} else {
		c.bytes(0xc4, ext&0xe0|o.mm, o.w<<7|byte(^src&15)<<3|byte(l&1)<<2|o.pp)
	}
	c.bytes(o.op)
	tail := 0
	if imm >= 0 {
		tail = 1
	}
	c.modrm(byte(dst&7), rm, tail)
	if imm >= 0 {
		c.bytes(byte(imm))
	}
}

// modrm writes the bytes that name a register and an operand; after them come so many
// bytes more.
func (c *code) modrm(reg byte, rm operand, after int) {
	switch {
	case rm.reg >= 0:
		c.bytes(0xc0 | reg<<3 | byte(rm.reg&7))
	case rm.base == inPool:
		c.bytes(reg<<3 | 5)
		c.fixes = append(c.fixes, fix{len(c.text), -1 - after})
		c.word(rm.at)
	case rm.index != noIndex || rm.base&7 == rsp:
		scale := byte(0)
		if rm.scaled {
			scale = 3 << 6
		} else if rm.wide {
			scale = 1 << 6
		}
		c.bytes(0x80|reg<<3|4, scale|byte(rm.index&7)<<3|byte(rm.base&7))
		c.word(rm.at)
	default:
		c.bytes(0x80 | reg<<3 | byte(rm.base&7))
		c.word(rm.at)
	}
}

func (c *code) bytes(b ...byte) { c.text = append(c.text, b...) }

func (c *code) word(x int32) { c.text = order.LittleEndian.AppendUint32(c.text, uint32(x)) }

// general writes an instruction of 64-bit general registers with an operand in memory,
// or a register, which rm.reg then is the number of.
func (c *code) general(op byte, reg gp, rm operand) {
	x, b := byte(0), byte(0)
	switch {
	case rm.reg >= 0:
		b = byte(rm.reg) >> 3
	case rm.base != inPool:
		x, b = byte(rm.index)>>3, byte(rm.base)>>3
	}
	c.bytes(0x48|byte(reg)>>3<<2|x<<1|b, op)
	c.modrm(byte(reg&7), rm, 0)
}

const (
	movFrom = 0x8b // reg = rm
	lea     = 0x8d
	addTo   = 0x03 // reg += rm
	cmpWith = 0x3b // reg - rm
	subFrom = 0x2b
	xorWith = 0x33
	testBy  = 0x85
)

// immediate writes an instruction that has a number: what is 0 adds, 4 ands, 7 compares.
func (c *code) immediate(what byte, reg gp, x int32) {
	c.bytes(0x48|byte(reg)>>3, 0x81, 0xc0|what<<3|byte(reg&7))
	c.word(x)
}

// label makes a place in the code that can be jumped to, before or after it is known.
func (c *code) label() int {
	c.marks = append(c.marks, -1)
	return len(c.marks) - 1
}

func (c *code) mark(l int) { c.marks[l] = len(c.text) }

// Conditions of jumps, as the second byte of their opcode.
const (
	ifCarry, ifNotCarry = 0x82, 0x83
	ifEqual, ifNotEqual = 0x84, 0x85
	ifSign, ifNotSign   = 0x88, 0x89
	ifParity            = 0x8a
	ifLess, ifNotLess   = 0x8c, 0x8d
	ifNotMore           = 0x8e
	always              = 0
)

// jump jumps to a label, always or when a condition holds; where that is, is written in when it is
// known.
func (c *code) jump(when byte, label int) {
	if when == always {
		c.bytes(0xe9)
	} else {
		c.bytes(0x0f, when)
	}
	c.fixes = append(c.fixes, fix{len(c.text), label})
	c.word(0)
}

func (c *code) ret() { c.bytes(0xc5, 0xf8, 0x77, 0xc3) } // VZEROUPPER, RET

// callTo calls a function, by way of RAX.
func (c *code) callTo(f uintptr) {
	c.bytes(0x48, 0xb8)
	c.text = order.LittleEndian.AppendUint64(c.text, uint64(f))
	c.bytes(0xff, 0xd0)
}

// link fills in the distances and appends the constants.
func (c *code) link() []byte {
	for len(c.text)%64 != 0 {
		c.bytes(0xcc)
	}
	end := len(c.text)
	for _, f := range c.fixes {
		to, from := 0, f.at+4
		if f.label >= 0 {
			to = c.marks[f.label]
		} else {
			from += -1 - f.label
			to = end + int(int32(order.LittleEndian.Uint32(c.text[f.at:])))
		}
		order.LittleEndian.PutUint32(c.text[f.at:], uint32(int32(to-from)))
	}
	for _, w := range c.pool {
		c.text = order.LittleEndian.AppendUint64(c.text, w)
	}
	return c.text
}
