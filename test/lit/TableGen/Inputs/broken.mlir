llvm.func @add(%a: vector<4xf32>) -> vector<4xf32> {
  %b = acme.negate %a : vector<4xf32>
  llvm.return %b : vector<4xf32>
}
