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
