// Package tape turns programs into numbers and their derivatives.
//
// # The life of an expression
//
//  1. A program (package expr) is lowered, statement by statement, onto a Tape: every operation
//     that runs appends an Instr, and a Ref names its value. Control flow runs; only what ran is
//     recorded (statements in lower.go, lower_bind.go and lower_loop.go, expressions in
//     lower_expr.go and index.go, their values in lower_value.go, calls in lower_call.go, of
//     operations in call.go, of what takes functions or sources in forms.go and derive.go).
//  2. Names are identities: a bound value keeps its Ref through differentiation, so that grad(z,
//     a) knows a from an equal b.
//  3. What an operation is stands in its row (op.go, ops_*.go): signature, partial derivatives
//     as text, kernel, conventions at kinks.
//  4. A derivative is more tape. VJP sweeps down from the target, multiplies each cotangent with
//     the partial (a strong zero: 0 against inf is 0), sums it back to the shape of its value in
//     one place, and appends what it needs (grad.go). Forward mode is the VJP of the VJP;
//     Jacobians and Hessians are VJPs along a batch axis (jacobian.go, batch.go). Where their
//     patterns (package sparsity, links.go) have few entries, rows that share no column are
//     computed as one (sparse.go). Of the others the answer's are computed as sums of products,
//     without the zeros of the seed, where these last (delta.go). High orders of a function of
//     one number are coefficients of its power series (series.go).
//  5. A condition is wanted at once: its slice of the tape runs, one instruction at a time, and
//     its values become leaves (force.go). Points of a vmap that disagree are split.
//  6. A long loop, or scan, is one instruction (loop.go, loop_roll.go), and its adjoint is a
//     loop (loop_grad.go); of an if in it both branches run, and only one is seen
//     (loop_forks.go, loop_branches.go, loop_course.go, loop_reach.go), and derivatives in it
//     are taken where they reach no step before (loop_derive.go). Its body becomes code
//     (loop_code.go, loop_nodes.go, loop_emit.go): what its steps do not wait for runs many
//     steps at a time (loop_run.go); what they wait for becomes machine code when there are many
//     (loop_machine.go). Steps over larger tensors run a plan of their own (loop_planned.go),
//     and what of them does not wait for the step before runs for many at once (loop_blocks.go);
//     what waits is a list of kernels' calls where it is small (loop_steady.go), in which tile
//     programs read what is moved where it is (loop_steady_reads.go, loop_steady_program.go). Rows
//     of derivatives through a loop go through its steps together (loop_along.go), or as lanes of its code (loop_lanes.go). A
//     vector that a program takes apart number by number is put together once on the way back
//     (block.go).
//  7. When numbers are wanted, passes make a Plan (plan.go): live, fold, chain, moved, fuse,
//     slide, again, place. Forward and backward elementwise work of one shape is one tile program, and
//     a full sum closes it without touching memory (tile.go), and so do sums over axes
//     (tile_sums.go); slices, and what is put together of parts, it reads where they lie (moved.go). Programs of which one reads what another
//     makes a few places apart run side by side, a window of it in the cache (slide.go). What is
//     float32 throughout computes on float32 (single.go, single_tile.go). Arithmetic of a
//     program that runs long or often becomes machine code (tile_machine.go).
//  8. An execution carries the plan out: tiles of 256 numbers that stay in L1 (tile_run.go),
//     or of a row where numbers of rows are spread over them (tile_rows.go),
//     single numbers in a plain loop, structural operations one by one (exec.go, package pool);
//     memory of dead values serves the next (arena.go). Layers over the same rows are carried
//     through for some rows at a time (chain.go). Rows of large Jacobians run some at a time, on
//     all threads (rows.go). What left the range on the way to a derivative is looked for in its
//     mirror image (mirror.go) and, where there are few numbers, computed without bounds
//     (regain.go, unbounded.go); where an infinite slope met a 0 that is none by itself
//     (taken.go), from nearby, or as a series (approach.go);
//     and where a NaN came out, all is computed once more with zeros that are strong in sums of
//     products, too (strong.go).
//  9. Sites where a derivative was a convention are looked at, and named as warnings (kinks.go);
//     a source without a derivative gets the reason (explain.go).
//  10. The answer leaves in the structures of the program (answer.go); every stage has a printed
//     form (dump.go) and a definition of well-formed (check.go).
//  11. With other inputs of the same form the tape and its plan run again, wherever all that
//     recording looked at comes out as it did (prepare.go).
//
// # Where things are
//
//	question session targets ask prepare desk           a question is asked, and asked again
//	lower lower_* call memo index forms derive          from syntax to Refs
//	tape intern leaves record shape batch sources growth  what is recorded
//	op op_* ops_* stripe transpose theirs compose*      operations, and what they are made of
//	grad jacobian block force                           derivatives, and values wanted at once
//	links sparse sparse_*                               Jacobians with few entries
//	delta delta_*                                       Jacobians as sums of products
//	loop loop_roll loop_names loop_outer loop_carried   loops as one instruction: their bodies are recorded,
//	loop_forks loop_branches loop_course loop_reach     conditions in them,
//	loop_grad loop_derive loop_sites                    their derivatives, and kinks on the way,
//	loop_code loop_nodes loop_split loop_emit           their code,
//	loop_run loop_places loop_count loop_machine        which runs many steps at a time, or as machine code;
//	loop_choice loop_planned* loop_blocks* loop_rights  steps that are planned,
//	loop_along loop_lanes* loop_unread                  also for many rows of derivatives at once, and without
//	                                                    what nobody reads,
//	loop_steady*                                        or lists of kernels' calls
//	series series_*                                     derivatives of high order
//	plan live fold fuse linger picked place             the plan and its passes
//	chain chain_*                                       layers carried through together
//	again                                               what is cheaper made again than written
//	slide slide_run                                     tile programs that run side by side
//	moved moved_run moved_back edges                    what is read where it lies
//	tile tile_* shorten single single_tile              programs of tiles
//	exec run arena rows spread turns                    running a plan
//	mirror regain unbounded bounds                      what left the range
//	approach approach_* taken                           limits where slopes are infinite
//	strong                                              what is not finite where zeros meet it
//	kinks overflow explain mixes conditions             warnings and reasons
//	answer dump check                                   what leaves, printed forms, well-formedness
//
// What needs no tape has packages of its own: tensor, the values; matrix, the factorisations
// behind linear algebra; sparsity, patterns of Jacobians and their colouring; order, sorting;
// pool, the threads; unbounded, numbers whose exponents have no bounds; puiseux, power series in
// a root of a distance; double, numbers in twice the precision.
//
// # Invariants, which Check and the plans' verify hold tests to
//
//   - Arguments come before what uses them: index order is evaluation order.
//   - A value varies along every batch axis of its arguments, unless it closes one.
//   - Axes are counted from the right, so that axes in front never matter.
//   - In a plan everything live runs once, after its arguments, and no step reads
//     what an earlier one freed.
//   - Plan and Force give the same bits, for every number of threads.
//
// # Tried, and what it taught
//
//   - Merging equal instructions while recording breaks names: a*b with a = x*x and
//     b = x*x has two sources. Merging is a pass of the plan, where names are gone.
//   - Doubling the tape by hand instead of append's quarter saves four copies of it.
//   - Hashing every single number of a long tape to find equals cost more than
//     computing twice; fold leaves long scalar tapes alone.
//   - Operations of a loop that take what the one before gave from a register, without
//     bounds checks, ran no faster than the plain switch (BenchmarkW6); machine code took
//     a third of its time, with the functions in it and values carried in registers.
//   - The columns of an array of three were turned into rows once, to read them in place:
//     cross products of 1e5 pairs took 1.7 times as long, for memory.
//   - A level for each instruction (one more than its arguments', but the same inside
//     one space) is all that fusing needs: groups are levels of a space.
package tape
