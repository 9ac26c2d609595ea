// Launches get what their back end must know.
//
// RUN: tw-opt %s -split-input-file -finish-launches | FileCheck %s

// CHECK: llvm.func @one() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>
module attributes {tilewright.target = "nvidia:H100"} {
llvm.func @one() attributes {tilewright.launch = {threads = 128 : i64, shared = 0 : i64}} { llvm.return }
}

// -----

// CHECK: llvm.func @two() attributes {rocdl.flat_work_group_size = "256,256", rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 256, 1, 1>
module attributes {tilewright.target = "amd:MI300X"} {
llvm.func @two() attributes {tilewright.launch = {threads = 256 : i64, shared = 0 : i64}} { llvm.return }
}

// -----

// Planned for the registers: the assembler takes what the kernel needs.
// CHECK: llvm.func @planned() attributes {{.*}}nvvm.minctasm = 1 : i32
module attributes {tilewright.target = "nvidia:L4"} {
llvm.func @planned() attributes {tilewright.launch = {threads = 128 : i64, shared = 0 : i64}, tilewright.residency = 3 : i64} { llvm.return }
}

// -----

// Sums that a loop carries in more than half of the registers that are for sums alone take those, and do not begin as a
// constant; fewer are left to the back end.
//
// CHECK: llvm.func @large({{.*}}passthrough = {{\[\[}}"amdgpu-agpr-alloc", "256"]]
// CHECK: %[[HELD:.*]] = llvm.inline_asm {{.*}}"; base", "=a,0"
// CHECK: llvm.br ^bb1(%{{.*}}, %[[HELD]]
// CHECK: llvm.func @small({{.*}}
// CHECK-NOT: passthrough
// CHECK-NOT: inline_asm
module attributes {tilewright.target = "amd:MI300X"} {
llvm.func @large(%last: i32) attributes {tilewright.launch = {threads = 256 : i64, shared = 0 : i64}} {
  %zero = llvm.mlir.constant(dense<0.0> : vector<256xf32>) : vector<256xf32>
  %first = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^bb1(%first, %zero : i32, vector<256xf32>)
^bb1(%i: i32, %sum: vector<256xf32>):
  %go = llvm.icmp "slt" %i, %last : i32
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %more = llvm.fadd %sum, %sum : vector<256xf32>
  %next = llvm.add %i, %one : i32
  llvm.br ^bb1(%next, %more : i32, vector<256xf32>)
^bb3:
  llvm.return
}
llvm.func @small(%last: i32) attributes {tilewright.launch = {threads = 256 : i64, shared = 0 : i64}} {
  %zero = llvm.mlir.constant(dense<0.0> : vector<128xf32>) : vector<128xf32>
  %first = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^bb1(%first, %zero : i32, vector<128xf32>)
^bb1(%i: i32, %sum: vector<128xf32>):
  %go = llvm.icmp "slt" %i, %last : i32
  llvm.cond_br %go, ^bb2, ^bb3
^bb2:
  %more = llvm.fadd %sum, %sum : vector<128xf32>
  %next = llvm.add %i, %one : i32
  llvm.br ^bb1(%next, %more : i32, vector<128xf32>)
^bb3:
  llvm.return
}
}
