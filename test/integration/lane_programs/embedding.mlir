// Rows of a table by tokens, positions added; tokens outside of the table are row 0.
func.func @embed(%tokens: tensor<?x?xi32>, %table: tensor<?x40xf16>, %position: tensor<?x40xf16>) -> tensor<?x?x40xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %izero = arith.constant 0 : i32
  %b = tensor.dim %tokens, %c0 : tensor<?x?xi32>
  %s = tensor.dim %tokens, %c1 : tensor<?x?xi32>
  %rows = tensor.dim %table, %c0 : tensor<?x40xf16>
  %ri = arith.index_cast %rows : index to i32
  %e = tensor.empty(%b, %s) : tensor<?x?x40xf16>
  %r = linalg.generic {indexing_maps = [affine_map<(b, s, d) -> (b, s)>, affine_map<(b, s, d) -> (s, d)>, affine_map<(b, s, d) -> (b, s, d)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%tokens, %position : tensor<?x?xi32>, tensor<?x40xf16>) outs(%e : tensor<?x?x40xf16>) {
    ^bb0(%t: i32, %p: f16, %o: f16):
      %d = linalg.index 2 : index
      %positive = arith.cmpi sge, %t, %izero : i32
      %below = arith.cmpi slt, %t, %ri : i32
      %inside = arith.andi %positive, %below : i1
      %safe = arith.select %inside, %t, %izero : i32
      %at = arith.index_cast %safe : i32 to index
      %v = tensor.extract %table[%at, %d] : tensor<?x40xf16>
      %y = arith.addf %v, %p : f16
      linalg.yield %y : f16
  } -> tensor<?x?x40xf16>
  return %r : tensor<?x?x40xf16>
}
