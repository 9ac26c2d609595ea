// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N x N cells, B stationary: cell (k, n) holds B[k][n]. Element k of a row of A enters cell row k after k clocks and moves
// right, partial sums move down; column n of a row of C leaves after N + n clocks and waits for the last column. Each cell
// has three places for B, so that the next tiles are loaded while rows that need the earlier ones are still under way.
module systolic_array #(parameter int N = 32) (
    input logic clk,
    input logic active,                       // something is under way, or enters
    input logic load,                         // write rows of B
    input logic [1:0] loadSet,
    input logic [N-1:0] loadRows,             // which rows
    input logic [16*N-1:0] loadData [N],
    input logic enters,                       // a row of A
    input logic isFloat,
    input logic [1:0] useSet,
    input logic [16*N-1:0] row,               // elements of 16 bits: bf16, or i8 in the low half
    output logic [32*N-1:0] sums              // of the row that entered 2N - 1 clocks before
);
  logic [15:0] weights [3][N][N];
  logic [15:0] moving [N][N];
  logic [31:0] partial [N][N];
  logic [15:0] entering [N][N];               // entering[d][k]: element k of the row of d clocks ago
  logic [3:0] about [2*N];                    // of the row of d clocks ago: valid, float, set
  logic [31:0] waiting [N][N];                // waiting[n][d]: column n, d clocks after it left

  // The arrays are state of this block alone. Cells are visited against the flow, so that each reads what its neighbours
  // held before the edge.
  always @(posedge clk) begin
    if (load)
      for (int k = 0; k < N; k++)
        if (loadRows[k])
          for (int n = 0; n < N; n++) weights[loadSet][k][n] = loadData[k][16*n +: 16];
    if (active) begin
      for (int n = 0; n < N; n++) begin
        for (int d = N - 1; d > 0; d--) waiting[n][d] = waiting[n][d-1];
        waiting[n][0] = partial[N-1][n];
      end
      for (int d = 2*N - 1; d > 0; d--) about[d] = about[d-1];
      about[0] = {enters, isFloat, useSet};
      for (int d = N - 1; d > 0; d--)
        for (int k = 0; k < N; k++) entering[d][k] = entering[d-1][k];
      for (int k = 0; k < N; k++) entering[0][k] = row[16*k +: 16];
      for (int k = N - 1; k >= 0; k--)
        for (int n = N - 1; n >= 0; n--) begin
          logic [15:0] a, w;
          logic [31:0] above;
          a = n == 0 ? entering[k][k] : moving[k][n-1];
          above = k == 0 ? 32'b0 : partial[k-1][n];
          moving[k][n] = a;
          if (about[k+n][3]) begin
            w = weights[about[k+n][1:0]][k][n];
            if (about[k+n][2])
              partial[k][n] = arithmetic::add(above, arithmetic::multiply({a, 16'b0}, {w, 16'b0}));
            else
              partial[k][n] = above + 32'(signed'(a[7:0])) * 32'(signed'(w[7:0]));
          end
        end
      // Column n left its last cell N - 1 - n clocks before column N - 1.
      for (int n = 0; n < N; n++) sums[32*n +: 32] <= n == N - 1 ? partial[N-1][n] : waiting[n][N-2-n];
    end
  end
endmodule
