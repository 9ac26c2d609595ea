#map = affine_map<() -> (6)>
#map1 = affine_map<() -> (1, 32)>
#map2 = affine_map<() -> (2, 64)>
#map3 = affine_map<() -> (160, 1, 32)>
#map4 = affine_map<() -> (160, 64, 32)>
module attributes {tilewright.fp = "default", tilewright.target = "amd:MI300X", tilewright.threads = 1 : i64} {
  func.func private @attention_kernel_0(%arg0: memref<160x1x32xf16>, %arg1: memref<160x64x32xf16>, %arg2: memref<160x64x32xf16>, %arg3: memref<160x1x32xf16>) attributes {tilewright.kernel} {
    %cst = arith.constant 0xFFC00000 : f32
    %cst_0 = arith.constant 2.500000e-01 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %alloc = memref.alloc() {alignment = 64 : i64} : memref<160x1x64xf32>
    %alloc_2 = memref.alloc() {alignment = 64 : i64} : memref<160x1x64xf32>
    %alloc_3 = memref.alloc() {alignment = 64 : i64} : memref<160x1xf32>
    %alloc_4 = memref.alloc() {alignment = 64 : i64} : memref<160x1x64xf32>
    %alloc_5 = memref.alloc() {alignment = 64 : i64} : memref<160x1xf32>
    %alloc_6 = memref.alloc() {alignment = 64 : i64} : memref<160x1x64xf16>
    %alloc_7 = memref.alloc() {alignment = 64 : i64} : memref<160x1x32xf32>
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          affine.store %cst_1, %alloc[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          affine.for %arg7 = 0 to 32 {
            %0 = affine.load %arg0[%arg4, %arg5, %arg7] : memref<160x1x32xf16>
            %1 = affine.load %arg1[%arg4, %arg6, %arg7] : memref<160x64x32xf16>
            %2 = affine.load %alloc[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
            %3 = arith.extf %0 : f16 to f32
            %4 = arith.extf %1 : f16 to f32
            %5 = arith.mulf %3, %4 : f32
            %6 = arith.addf %2, %5 : f32
            affine.store %6, %alloc[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
          }
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          %0 = affine.load %alloc[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
          %1 = arith.mulf %0, %cst_0 : f32
          affine.store %1, %alloc_2[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.store %cst, %alloc_3[%arg4, %arg5] : memref<160x1xf32>
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          %0 = affine.load %alloc_2[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
          %1 = affine.load %alloc_3[%arg4, %arg5] : memref<160x1xf32>
          %2 = arith.maxnumf %0, %1 : f32
          affine.store %2, %alloc_3[%arg4, %arg5] : memref<160x1xf32>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          %0 = affine.load %alloc_2[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
          %1 = affine.load %alloc_3[%arg4, %arg5] : memref<160x1xf32>
          %2 = arith.subf %0, %1 : f32
          %3 = math.exp %2 : f32
          affine.store %3, %alloc_4[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.store %cst_1, %alloc_5[%arg4, %arg5] : memref<160x1xf32>
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          %0 = affine.load %alloc_4[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
          %1 = affine.load %alloc_5[%arg4, %arg5] : memref<160x1xf32>
          %2 = arith.addf %0, %1 : f32
          affine.store %2, %alloc_5[%arg4, %arg5] : memref<160x1xf32>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 64 {
          %0 = affine.load %alloc_4[%arg4, %arg5, %arg6] : memref<160x1x64xf32>
          %1 = affine.load %alloc_5[%arg4, %arg5] : memref<160x1xf32>
          %2 = arith.divf %0, %1 : f32
          %3 = arith.truncf %2 : f32 to f16
          affine.store %3, %alloc_6[%arg4, %arg5, %arg6] : memref<160x1x64xf16>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 32 {
          affine.store %cst_1, %alloc_7[%arg4, %arg5, %arg6] : memref<160x1x32xf32>
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 32 {
          affine.for %arg7 = 0 to 64 {
            %0 = affine.load %alloc_6[%arg4, %arg5, %arg7] : memref<160x1x64xf16>
            %1 = affine.load %arg2[%arg4, %arg7, %arg6] : memref<160x64x32xf16>
            %2 = affine.load %alloc_7[%arg4, %arg5, %arg6] : memref<160x1x32xf32>
            %3 = arith.extf %0 : f16 to f32
            %4 = arith.extf %1 : f16 to f32
            %5 = arith.mulf %3, %4 : f32
            %6 = arith.addf %2, %5 : f32
            affine.store %6, %alloc_7[%arg4, %arg5, %arg6] : memref<160x1x32xf32>
          }
        }
      }
    }
    affine.for %arg4 = 0 to 160 {
      affine.for %arg5 = 0 to 1 {
        affine.for %arg6 = 0 to 32 {
          %0 = affine.load %alloc_7[%arg4, %arg5, %arg6] : memref<160x1x32xf32>
          %1 = arith.truncf %0 : f32 to f16
          affine.store %1, %arg3[%arg4, %arg5, %arg6] : memref<160x1x32xf16>
        }
      }
    }
    return
  }
  func.func @attention(%arg0: memref<160x1x32xf16>, %arg1: memref<160x64x32xf16>, %arg2: memref<160x64x32xf16>, %arg3: memref<160x1x32xf16>) attributes {tilewright.array_results = array<i1: true>, tilewright.inputs = 3 : i64, tilewright.outputs = 1 : i64, tilewright.roundings = [#map, #map1, #map2], tilewright.shapes = [#map3, #map4, #map4, #map3]} {
    call @attention_kernel_0(%arg0, %arg1, %arg2, %arg3) : (memref<160x1x32xf16>, memref<160x64x32xf16>, memref<160x64x32xf16>, memref<160x1x32xf16>) -> ()
    return
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(copy-byte-views,func.func(simplify-host-code,map-parallel-to-lanes,sink-factors,fuse-halos,schedule-chains,tile-and-fuse,place-tiles,map-to-units,split-reductions,map-contractions{force=},map-row-programs-to-lanes,map-rows-to-lanes,map-transposes-to-lanes,map-nests-to-lanes),canonicalize{disable-patterns={{(anonymous namespace)::RemoveDuplicateSuccessorInputUses}}  max-iterations=10 max-num-rewrites=-1 region-simplify=aggressive test-convergence=false top-down=false},cse)",
      disable_threading: true,
      verify_each: false
    }
  }
#-}
