// RUN: sed 's/CHIP/emerald-rapids/' %s | tw-opt --expand-bfloats | FileCheck %s --check-prefix=NATIVE
// RUN: sed 's/CHIP/x86-64-v3/' %s | tw-opt --expand-bfloats | FileCheck %s
// RUN: sed 's/CHIP/emerald-rapids/; s/"fast"/"default"/' %s | tw-opt --expand-bfloats | FileCheck %s

// A chip with a rate for it has an instruction, which takes numbers below the smallest normal one for zero: only fast
// programs have it. Others round as integers.
module attributes {tilewright.target = "cpu:CHIP", tilewright.fp = "fast"} {
  // NATIVE-LABEL: func @narrow
  // NATIVE: arith.truncf %arg0 : vector<16xf32> to vector<16xbf16>
  // CHECK-LABEL: func @narrow
  // CHECK-NOT: arith.truncf
  // CHECK: arith.bitcast %arg0 : vector<16xf32> to vector<16xi32>
  // CHECK: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
  // CHECK: arith.bitcast %{{.*}} : vector<16xi16> to vector<16xbf16>
  func.func @narrow(%x: vector<16xf32>) -> vector<16xbf16> {
    %y = arith.truncf %x : vector<16xf32> to vector<16xbf16>
    return %y : vector<16xbf16>
  }

  // CHECK-LABEL: func @widen
  // CHECK-NOT: arith.extf
  // CHECK: arith.shli
  func.func @widen(%x: bf16) -> f32 {
    %y = arith.extf %x : bf16 to f32
    return %y : f32
  }
}
