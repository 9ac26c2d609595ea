// Whole programs to the code of GPUs: matrix instructions, no spills, one file with the manifest, refusals.
//
// RUN: tw-compile %s --target nvidia:A100 -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: tw-compile %s --target amd:MI300X -o %t.hsaco
// RUN: llvm-readobj --notes %t.hsaco | FileCheck %s --check-prefix=NOTES
// RUN: llvm-objdump -d %t.hsaco | FileCheck %s --check-prefix=HSACO
// RUN: tw-compile %s --target amd:RX9070 -o %t.tw
// RUN: FileCheck %s --check-prefix=TW < %t.tw
// RUN: not tw-compile %s --target nvidia:A100 -o %t.so 2>&1 | FileCheck %s --check-prefix=KIND

// PTX: .target sm_80
// PTX: .entry mm_launch_0
// PTX: .maxntid
// PTX: cp.async.cg.shared.global
// PTX: cp.async.wait_group
// PTX-NEXT: bar.sync 0
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// NOTES: .sgpr_spill_count: 0
// NOTES: .vgpr_spill_count: 0
// HSACO: v_mfma_f32

// TW: TILEWRIGHT 1
// TW: "kind":"hsaco"
// TW-SAME: "entry":"mm"

// KIND: error: cannot tell what '{{.*}}.so' shall be; for nvidia:A100 expected a name that ends with .ptx, .cubin, .ll or .tw

func.func @mm(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>, %bias: tensor<512xf16>) -> tensor<512x512xf16> {
  %z = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<512x512xf16>
  %f = linalg.fill ins(%z : f16) outs(%e : tensor<512x512xf16>) -> tensor<512x512xf16>
  %r = linalg.matmul ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%f : tensor<512x512xf16>) -> tensor<512x512xf16>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
         ins(%r, %bias : tensor<512x512xf16>, tensor<512xf16>) outs(%e : tensor<512x512xf16>) {
  ^bb0(%x: f16, %y: f16, %q: f16):
    %s = arith.addf %x, %y : f16
    linalg.yield %s : f16
  } -> tensor<512x512xf16>
  return %o : tensor<512x512xf16>
}
