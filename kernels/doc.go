// Package kernels computes on slices of float64 and of float32. It knows nothing of
// tensors, operations or tapes.
//
// # The contract
//
// An elementwise kernel has one of the forms
//
//	func(dst, x []float64)
//	func(dst, x, y []float64)
//	func(dst, x, y, z []float64)
//
// All slices have the length of dst (longer arguments are read up to it, shorter
// ones panic); dst may be exactly one of the arguments, or must not overlap them.
// Nothing is read or written beyond the slices. Lengths may be zero.
//
// Conditions are numbers: 0 is false, anything else is true; comparisons give 0
// and 1. NaN in gives NaN out unless a kernel says otherwise; signed zeros and
// infinities follow C99 Annex F.
//
// # The same bits everywhere
//
// The portable Go kernel is complete and defines the answer. A tier (avx2,
// avx512, neon) overrides only what it makes faster and returns the same bits
// for every input (a NaN may have any payload). So every algorithm here is
// written to be vectorised: the same polynomial, the same tables, explicit
// math.FMA, and float64(x*y) where Go could fuse on its own. Elementary
// functions are within 1 ulp over their whole range, special functions within
// 5 ulp away from their zeros.
//
// Sums have one order, fixed by the length alone: blocks of SumBlock elements;
// in a block element i goes to lane i%32; the 32 lanes fold as a tree
// (l[i] += l[i+16], then 8, 4, 2, 1); the blocks are added in order, first to
// last, starting from the first block's own sum. Matrix products take k in
// order, one math.FMA each, starting from zero (or from what C holds). So work may
// be cut: a sum into whole blocks or, by Lanes, into tiles; a product into any parts
// of C.
//
// For every elementwise kernel Name there is a scalar twin NameOf with the same
// bits, for tapes of single numbers.
//
// # Machine code
//
// MakeSteps, Fuse, FusePieces and Fuse32 write machine code for lines of arithmetic while the program runs,
// on amd64: the first step by step, for loops over single numbers, the others for vectors, as
// a kernel of a run. Values stay in registers between lines; nothing else changes, so the bits
// are those of the kernels one by one. Elementary functions are leaves of assembly, since such
// code cannot call Go, whose stacks move. It is preempted at its end alone, so it is given
// a few hundred elements at a time. Its memory is never writable and executable at once;
// where a system has no such memory there is no machine code.
//
// # float32
//
// Single has the kernels of float32. Each gives the bits of its namesake on float64,
// rounded once, on every tier; so there is one set of algorithms, and every elementary
// function of float32 is within 0.5000001 ulp. Sums of float32 are sums of float64.
// Gemm32 is of its own: chains of FMA in float32, cut every Gemm32Block, whose error
// bound is (Gemm32Block + k/Gemm32Block) u.
//
// # Tiers
//
// Kernels are variables, set once (Choose) to the best this CPU runs; NABLA_CPU
// selects a lower tier, the build tag purego leaves portable Go alone. A call
// through a variable costs 2.5 ns and lets its slices escape to the heap; Run calls
// one kernel after the other without Go in between, and Repeat does so again and again. On amd64 machine code that is made
// at run time finds the same elementwise functions, of one number, as leaves (leafOf).
//
// Elementwise kernels are described once, in _asm, and written for AVX2, AVX-512 and
// NEON. Those of NEON were not timed: under an emulator that counts, with arguments of
// ordinary size, they execute this many instructions an element, where portable Go
// executes the second number.
//
//	add 2.0, 7.0      exp 20, 85        tanh 32, 133          sin 27, 110      asin 29, 141
//	compare 2.6, 10   log 32, 98        sigmoid 36, 138       tan 37, 129      atan2 65, 229
//	where 2.7, 9.0    log1p 34, 116     softplus 65, 200      sinCos 32, 176   erf 31, 144
//	mod 13, 89        pow 91, 242       tanhSech2 45, 281     erfc 79, 290
//
// Of float32: add 1.0, 25, exp 18, 97, log 25, 77, tanh 20, 145, sin 24, 122.
// A multiply-add of Gemm32 takes 0.6, 63.
package kernels
