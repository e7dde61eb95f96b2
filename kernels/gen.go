package kernels

// The assembly is generated, by the programs in _asm, a module of its own; go
// generate -run arith runs one of them.

//go:generate go -C _asm run ./arith -tier avx2 -pkg kernels -out ../arith_avx2_amd64.s -stubs ../arith_avx2_amd64.go
//go:generate go -C _asm run ./arith -tier avx512 -pkg kernels -out ../arith_avx512_amd64.s -stubs ../arith_avx512_amd64.go
//go:generate go -C _asm run ./arith -tier leaf -pkg kernels -out ../arith_leaf_amd64.s -stubs ../arith_leaf_amd64.go
//go:generate go -C _asm run ./arith -tier neon -pkg kernels -out ../arith_neon_arm64.s -stubs ../arith_neon_arm64.go
//go:generate go -C _asm run ./gemm -tier avx2 -pkg kernels -out ../gemm_avx2_amd64.s -stubs ../gemm_avx2_amd64.go
//go:generate go -C _asm run ./gemm -tier avx512 -pkg kernels -out ../gemm_avx512_amd64.s -stubs ../gemm_avx512_amd64.go
//go:generate go -C _asm run ./arith -single -tier avx2 -pkg kernels -out ../arith32_avx2_amd64.s -stubs ../arith32_avx2_amd64.go
//go:generate go -C _asm run ./arith -single -tier avx512 -pkg kernels -out ../arith32_avx512_amd64.s -stubs ../arith32_avx512_amd64.go
//go:generate go -C _asm run ./arith -single -tier neon -pkg kernels -out ../arith32_neon_arm64.s -stubs ../arith32_neon_arm64.go
//go:generate go -C _asm run ./gemm -single -tier avx2 -pkg kernels -out ../gemm32_avx2_amd64.s -stubs ../gemm32_avx2_amd64.go
//go:generate go -C _asm run ./gemm -single -tier avx512 -pkg kernels -out ../gemm32_avx512_amd64.s -stubs ../gemm32_avx512_amd64.go
//go:generate go -C _asm run ./exp -single -tier avx2 -pkg kernels -out ../exp32_avx2_amd64.s -stubs ../exp32_avx2_amd64.go
//go:generate go -C _asm run ./exp -single -tier avx512 -pkg kernels -out ../exp32_avx512_amd64.s -stubs ../exp32_avx512_amd64.go
//go:generate go -C _asm run ./exp -single -tier neon -pkg kernels -out ../exp32_neon_arm64.s -stubs ../exp32_neon_arm64.go
//go:generate go -C _asm run ./exp -tier avx2 -pkg kernels -out ../exp_avx2_amd64.s -stubs ../exp_avx2_amd64.go
//go:generate go -C _asm run ./exp -tier avx512 -pkg kernels -out ../exp_avx512_amd64.s -stubs ../exp_avx512_amd64.go
//go:generate go -C _asm run ./exp -tier leaf -pkg kernels -out ../exp_leaf_amd64.s -stubs ../exp_leaf_amd64.go
//go:generate go -C _asm run ./exp -tier neon -pkg kernels -out ../exp_neon_arm64.s -stubs ../exp_neon_arm64.go
//go:generate go -C _asm run ./move -tier avx2 -pkg kernels -out ../move_avx2_amd64.s -stubs ../move_avx2_amd64.go
//go:generate go -C _asm run ./move -tier avx512 -pkg kernels -out ../move_avx512_amd64.s -stubs ../move_avx512_amd64.go
//go:generate go -C _asm run ./reduce -tier avx2 -pkg kernels -out ../reduce_avx2_amd64.s -stubs ../reduce_avx2_amd64.go
//go:generate go -C _asm run ./reduce -tier avx512 -pkg kernels -out ../reduce_avx512_amd64.s -stubs ../reduce_avx512_amd64.go
//go:generate go -C _asm run ./trig -tier avx2 -pkg kernels -out ../trig_avx2_amd64.s -stubs ../trig_avx2_amd64.go
//go:generate go -C _asm run ./trig -tier avx512 -pkg kernels -out ../trig_avx512_amd64.s -stubs ../trig_avx512_amd64.go
//go:generate go -C _asm run ./trig -tier leaf -pkg kernels -out ../trig_leaf_amd64.s -stubs ../trig_leaf_amd64.go
//go:generate go -C _asm run ./trig -tier neon -pkg kernels -out ../trig_neon_arm64.s -stubs ../trig_neon_arm64.go
//go:generate go -C _asm run ./neon
