//===- Layout.td - How a matrix lies over lanes and elements -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout says which (row, column) of a matrix each (lane, element) slot of a
// fragment holds. It is linear over GF(2): bit i of the lane number contributes
// the position lanes[i], bit j of the element number elements[j], and all
// contributions are XOR-ed. Repetitions extend it to sizes that are no power of
// two: element numbers continue with `count` copies, (row, col) apart.
//
//   def : an 8 x 4 matrix over 16 lanes of 2 elements, pairs of columns in a lane
//   Layout<[[0, 2], [1, 0], [2, 0], [4, 0]], [[0, 1]]>
//           lane bit 0      lane bits 1-3     element bit 0
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CHIP_LAYOUT
#define TILEWRIGHT_CHIP_LAYOUT

/// `count` copies of what precedes, `row` rows and `col` columns apart.
class Repeat<int count_, int row_, int col_> {
  int count = count_;
  int row = row_;
  int col = col_;
}

/// A layout by its basis images, each a pair [row, column].
class Layout<list<list<int>> lanes_, list<list<int>> elements_, list<Repeat> repeats_ = [], string order_ = ""> {
  list<list<int>> lanes = lanes_;
  list<list<int>> elements = elements_;
  list<Repeat> repeats = repeats_;
  string order = order_; // "row" or "column": one lane that holds all, whatever the operand's shape is
}

/// One lane (or thread) that holds the whole operand, row by row or column by column.
def RowMajor : Layout<[], [], [], "row">;
def ColumnMajor : Layout<[], [], [], "column">;

#endif // TILEWRIGHT_CHIP_LAYOUT
