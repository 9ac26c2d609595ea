// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One core: command front, two DMA engines with queues, systolic array with a queue, vector unit, banked scratchpad, banked
// accumulator memory, and its ports to global memory.
module npu_core #(
    parameter int N = 32,                     // rows and columns of the systolic array
    parameter int SCRATCHPAD_WORDS = 16384,   // of 64 bytes
    parameter int ACCUMULATOR_WORDS = 4096,
    parameter int GLOBAL_WORDS = 2097152,
    parameter int BANKS = 16,                 // word w lies in bank w mod BANKS
    parameter int QUEUE = 8,                  // commands of a DMA engine, of the array
    parameter int DMA_BYTES = 32, DMA_LATENCY = 100,             // copies in; bytes of a row each clock
    parameter int OUT_BYTES = DMA_BYTES, OUT_LATENCY = DMA_LATENCY, // copies out
    parameter int CORE_BYTES = 8, CORE_LATENCY = 100, // the core's own accesses to global memory
    parameter int LOAD_BYTES = 128            // of B for each clock
) (
    input logic clk,
    input logic reset,
    // A command is held until `done`.
    input logic valid,
    input logic [7:0] op,
    input logic [63:0] to, toPitch, from, fromPitch, other, otherPitch,
    input logic [31:0] rows, bytes, element,
    input logic [511:0] data0, data1, data2,
    output logic done,
    output logic [511:0] result,
    output logic fault,                       // an address outside the memories
    output logic [63:0] clocks, busyIn, busyOut, busyUnit,
    output logic [63:0] conflictsCore, conflictsIn, conflictsOut, conflictsUnit // clocks that each waited for a bank
);
  localparam logic [7:0] ISSUE = 0, LOAD = 1, STORE = 2, COPY_IN = 3, COPY_OUT = 4, MULTIPLY = 5, COMMIT = 6, WAIT = 7,
                         REQUANTIZE = 8;
  localparam logic [63:0] SCRATCHPAD = 64'h10000000, ACCUMULATOR = 64'h20000000, GLOBAL = 64'h100000000;
  localparam int ARRAY_CLOCKS = 2 * N - 1; // from the entry of a row of A to its row of C

  logic [511:0] scratchpad [SCRATCHPAD_WORDS] /*verilator public_flat_rw*/;
  logic [511:0] accumulator [ACCUMULATOR_WORDS] /*verilator public_flat_rw*/;
  logic [511:0] globalMemory [GLOBAL_WORDS] /*verilator public_flat_rw*/;

  function automatic int space(input logic [63:0] address);
    if (address >= GLOBAL && address < GLOBAL + 64 * 64'(GLOBAL_WORDS) - 64) return 2;
    if (address >= ACCUMULATOR && address < ACCUMULATOR + 64 * 64'(ACCUMULATOR_WORDS)) return 1;
    if (address >= SCRATCHPAD && address < SCRATCHPAD + 64 * 64'(SCRATCHPAD_WORDS)) return 0;
    return 3;
  endfunction
  /// Which banks the bytes [address, address + size) lie in, at most 128 of them.
  function automatic logic [BANKS-1:0] banksOf(input logic [63:0] address, input int size);
    logic [63:0] word;
    banksOf = 0;
    word = (address & 64'hfffffff) >> 6;
    for (int i = 0; i < 3; i++)
      if (((word + 64'(i)) << 6) < (address & 64'hfffffff) + 64'(size)) banksOf[(word + 64'(i)) % BANKS] = 1;
  endfunction
  function automatic logic [511:0] read(input logic [63:0] address);
    logic [1023:0] both;
    logic [63:0] offset;
    int word;
    offset = address & (space(address) == 2 ? 64'hffffffff : 64'hfffffff);
    word = int'(offset >> 6);
    if (space(address) == 2) both = {globalMemory[word+1], globalMemory[word]};
    else if (space(address) == 1) both = {accumulator[word+1], accumulator[word]};
    else both = {scratchpad[word+1], scratchpad[word]};
    return 512'(both >> (8 * offset[5:0]));
  endfunction
  task automatic write(input logic [63:0] address, input logic [511:0] value, input int size);
    logic [1023:0] mask, shifted;
    logic [63:0] offset;
    int word;
    offset = address & (space(address) == 2 ? 64'hffffffff : 64'hfffffff);
    word = int'(offset >> 6);
    mask = ((1024'b1 << (8 * size)) - 1) << (8 * offset[5:0]);
    shifted = {512'b0, value} << (8 * offset[5:0]);
    for (int i = 0; i < 2; i++)
      if (mask[512*i +: 512] != 0) begin
        if (space(address) == 2)
          globalMemory[word+i] = (globalMemory[word+i] & ~mask[512*i +: 512]) | (shifted[512*i +: 512] & mask[512*i +: 512]);
        else if (space(address) == 1)
          accumulator[word+i] = (accumulator[word+i] & ~mask[512*i +: 512]) | (shifted[512*i +: 512] & mask[512*i +: 512]);
        else
          scratchpad[word+i] = (scratchpad[word+i] & ~mask[512*i +: 512]) | (shifted[512*i +: 512] & mask[512*i +: 512]);
      end
  endtask

  typedef struct packed {
    logic [63:0] to, toPitch, from, fromPitch;
    logic [31:0] rows, bytes, element;
  } Descriptor;
  typedef struct packed {
    logic [63:0] a, aPitch, b, bPitch, c, cPitch;
    logic accumulates, isFloat;
  } Product;
  typedef struct packed {
    logic valid, accumulates, isFloat, last;
    logic [63:0] c;
  } RowOfC;

  // Numbers of engines: 0 copies in, 1 the array, 2 copies out. Groups end where a command count is marked.
  logic [31:0] issued [3], completed [3], groups [3], marks [3][1024];
  logic [31:0] spent;                         // clocks of the command in the front
  Descriptor queue [2][QUEUE];                // of copies in, of copies out
  logic [31:0] row [2], offset [2], latency [2];
  Product products [QUEUE];
  logic [31:0] started;                       // products whose rows have all entered
  logic [31:0] loadedRows, enteredRows;
  logic loading, streaming;
  logic held, heldFloat;                      // the tile of B that the array has
  logic [63:0] heldB, heldPitch;
  logic [1:0] set;
  RowOfC under [ARRAY_CLOCKS+1];
  logic [31:0] idle;                          // clocks since a row entered

  logic arrayActive, load, enters, entersFloat;
  logic [1:0] loadSet, useSet;
  logic [N-1:0] loadRows;
  logic [16*N-1:0] loadData [N], entering;
  logic [32*N-1:0] sums;
  systolic_array #(.N(N)) array (.clk, .active(arrayActive), .load, .loadSet, .loadRows, .loadData, .enters,
                                 .isFloat(entersFloat), .useSet, .row(entering), .sums);

  function automatic logic [16*N-1:0] widen(input logic [511:0] bytesOfRow, input logic isFloat);
    for (int k = 0; k < N; k++)
      widen[16*k +: 16] = isFloat ? bytesOfRow[16*k +: 16] : {8'b0, bytesOfRow[8*k +: 8]};
  endfunction

  /// A write to the scratchpad: the array's tile of B may have changed.
  task automatic touched(input logic [63:0] address, input logic [31:0] size);
    if (address + 64'(size) > heldB && address < heldB + 64'(N) * heldPitch) held = 0;
  endtask

  logic [BANKS-1:0] taken, takenAccumulator, wanted;

  always @(posedge clk) begin
    done <= 0;
    load <= 0;
    enters <= 0;
    taken = 0;
    takenAccumulator = 0;
    if (reset) begin
      for (int e = 0; e < 3; e++) begin issued[e] = 0; completed[e] = 0; groups[e] = 0; end
      for (int e = 0; e < 2; e++) begin row[e] = 0; offset[e] = 0; latency[e] = 0; end
      for (int d = 0; d <= ARRAY_CLOCKS; d++) under[d] = '0;
      spent = 0; started = 0; loadedRows = 0; enteredRows = 0; loading = 0; streaming = 0; held = 0; set = 0; idle = 1000;
      fault <= 0; clocks <= 0; busyIn <= 0; busyOut <= 0; busyUnit <= 0;
      conflictsCore <= 0; conflictsIn <= 0; conflictsOut <= 0; conflictsUnit <= 0;
      arrayActive <= 0;
    end else begin
      clocks <= clocks + 1;

      // Rows of C leave the array: they cannot wait.
      if (under[ARRAY_CLOCKS].valid) begin
        RowOfC leaving;
        leaving = under[ARRAY_CLOCKS];
        takenAccumulator = banksOf(leaving.c, 4 * N);
        for (int half = 0; half < (4 * N + 63) / 64; half++) begin
          logic [511:0] old, sum;
          old = leaving.accumulates ? read(leaving.c + 64'(64 * half)) : 512'b0;
          for (int n = 0; n < (N < 16 ? N : 16); n++)
            sum[32*n +: 32] = leaving.isFloat ? arithmetic::add(old[32*n +: 32], sums[32*(16*half+n) +: 32])
                                              : old[32*n +: 32] + sums[32*(16*half+n) +: 32];
          write(leaving.c + 64'(64 * half), sum, 4 * (N < 16 ? N : 16));
        end
        if (leaving.last) completed[1] = completed[1] + 1;
      end
      for (int d = ARRAY_CLOCKS; d > 0; d--) under[d] = under[d-1];
      under[0] = '0;

      // The front.
      if (valid) begin
        spent = spent + 1;
        case (op)
          ISSUE: if (spent >= rows) begin done <= 1; spent = 0; end
          LOAD, STORE: begin
            case (space(to))
              0: begin
                wanted = banksOf(to, int'(bytes));
                taken = taken | wanted;
                if (op == LOAD) result <= read(to);
                else begin write(to, data0, int'(bytes)); touched(to, bytes); end
                done <= 1; spent = 0;
              end
              1: begin
                wanted = banksOf(to, int'(bytes));
                if ((wanted & takenAccumulator) != 0) conflictsCore <= conflictsCore + 1;
                else begin
                  if (op == LOAD) result <= read(to);
                  else write(to, data0, int'(bytes));
                  done <= 1; spent = 0;
                end
              end
              2:
                if (spent >= (bytes + CORE_BYTES - 1) / CORE_BYTES + (op == LOAD ? CORE_LATENCY : 0)) begin
                  if (op == LOAD) result <= read(to);
                  else write(to, data0, int'(bytes));
                  done <= 1; spent = 0;
                end
              default: begin fault <= 1; done <= 1; spent = 0; end
            endcase
          end
          COPY_IN, COPY_OUT: begin
            int e, q;
            e = op == COPY_IN ? 0 : 1;
            q = op == COPY_IN ? 0 : 2;
            if (issued[q] - completed[q] < QUEUE) begin
              queue[e][issued[q] % QUEUE] = {to, toPitch, from, fromPitch, rows, bytes, element};
              issued[q] = issued[q] + 1;
              if (space(to) == 3 || space(from) == 3) fault <= 1;
              done <= 1; spent = 0;
            end
          end
          MULTIPLY:
            if (issued[1] - started < QUEUE) begin
              products[issued[1] % QUEUE] = {from, fromPitch, other, otherPitch, to, toPitch, rows[0], element[0]};
              issued[1] = issued[1] + 1;
              if (space(to) != 1 || space(from) != 0 || space(other) != 0) fault <= 1;
              done <= 1; spent = 0;
            end
          COMMIT: begin
            marks[element[1:0]][groups[element[1:0]] % 1024] = issued[element[1:0]];
            groups[element[1:0]] = groups[element[1:0]] + 1;
            done <= 1; spent = 0;
          end
          WAIT: // for all but `rows` groups of engine `element`
            if (groups[element[1:0]] <= rows
                || completed[element[1:0]] >= marks[element[1:0]][(groups[element[1:0]] - rows - 1) % 1024]) begin
              done <= 1; spent = 0;
            end
          REQUANTIZE: begin // `rows` elements of data0 (element: float) by data1, data2: up to 16
            result <= 0;
            for (int i = 0; i < 16; i++)
              result[8*i +: 8] <= arithmetic::saturate(arithmetic::add(arithmetic::round(arithmetic::multiply(
                  element[0] ? data0[32*i +: 32] : arithmetic::fromInteger(data0[32*i +: 32]), data1[32*i +: 32])),
                  data2[32*i +: 32]));
            done <= 1; spent = 0;
          end
          default: begin fault <= 1; done <= 1; spent = 0; end
        endcase
      end

      // DMA: latency, then up to DMA_BYTES of a row each clock, or one element where rows become columns.
      for (int e = 0; e < 2; e++) begin
        int q;
        Descriptor d;
        logic [63:0] source, target;
        int size, beat;
        q = e == 0 ? 0 : 2;
        beat = e == 0 ? DMA_BYTES : OUT_BYTES;
        d = queue[e][completed[q] % QUEUE];
        if (issued[q] != completed[q]) begin
          if (e == 0) busyIn <= busyIn + 1; else busyOut <= busyOut + 1;
          if (latency[e] < (e == 0 ? DMA_LATENCY : OUT_LATENCY)) latency[e] = latency[e] + 1;
          else begin
            if (d.rows != 0 && d.bytes != 0) begin
              size = d.element != 0 ? int'(d.element)
                     : int'(d.bytes - offset[e] < beat ? d.bytes - offset[e] : beat);
              source = d.from + 64'(row[e]) * d.fromPitch + 64'(offset[e]);
              target = d.element != 0 ? d.to + 64'(offset[e] / d.element) * d.toPitch + 64'(row[e] * d.element)
                                      : d.to + 64'(row[e]) * d.toPitch + 64'(offset[e]);
              if (space(source) == 3 || space(target) == 3) fault <= 1;
              wanted = banksOf(e == 0 ? target : source, size);
              if ((wanted & taken) != 0) begin
                if (e == 0) conflictsIn <= conflictsIn + 1; else conflictsOut <= conflictsOut + 1;
              end else begin
                taken = taken | wanted;
                write(target, read(source), size);
                if (e == 0) touched(target, size);
                offset[e] = offset[e] + size;
                if (offset[e] >= d.bytes) begin offset[e] = 0; row[e] = row[e] + 1; end
              end
            end
            if (row[e] >= d.rows || d.bytes == 0) begin
              row[e] = 0; offset[e] = 0; latency[e] = 0;
              completed[q] = completed[q] + 1;
            end
          end
        end
      end

      // The array's queue: B into the cells unless it is there, then a row of A each clock.
      if (issued[1] != started) begin
        Product p;
        int rowBytes;
        p = products[started % QUEUE];
        rowBytes = p.isFloat ? 2 * N : N;
        busyUnit <= busyUnit + 1;
        if (!streaming && !loading && held && heldB == p.b && heldPitch == p.bPitch && heldFloat == p.isFloat)
          streaming = 1;
        if (!streaming) begin
          int moved;
          logic [BANKS-1:0] mine;
          logic blocked;
          moved = 0; mine = 0; blocked = 0;
          if (!loading) begin
            loading = 1;
            set = set == 2 ? 0 : set + 1;
            held = 1; heldB = p.b; heldPitch = p.bPitch; heldFloat = p.isFloat;
          end
          loadRows <= 0;
          load <= 1;
          loadSet <= set;
          for (int i = 0; i < LOAD_BYTES / N; i++)
            if (!blocked && loadedRows < N && moved + rowBytes <= LOAD_BYTES) begin
              logic [63:0] address;
              address = p.b + 64'(loadedRows) * p.bPitch;
              wanted = banksOf(address, rowBytes);
              // Rows of one word come together; others of the same bank one after the other.
              if ((wanted & taken) != 0
                  || ((wanted & mine) != 0 && (address >> 6) != ((address - p.bPitch) >> 6))) begin
                blocked = 1;
                conflictsUnit <= conflictsUnit + 1;
              end else begin
                mine = mine | wanted;
                loadRows[loadedRows] <= 1;
                loadData[loadedRows] <= widen(read(address), p.isFloat);
                loadedRows = loadedRows + 1;
                moved = moved + rowBytes;
              end
            end
          taken = taken | mine;
          if (loadedRows == N) begin loading = 0; streaming = 1; loadedRows = 0; end
        end else begin
          wanted = banksOf(p.a + 64'(enteredRows) * p.aPitch, rowBytes);
          if ((wanted & taken) != 0) conflictsUnit <= conflictsUnit + 1;
          else begin
            taken = taken | wanted;
            enters <= 1;
            entersFloat <= p.isFloat;
            useSet <= set;
            entering <= widen(read(p.a + 64'(enteredRows) * p.aPitch), p.isFloat);
            under[0] = {1'b1, p.accumulates, p.isFloat, enteredRows == N - 1, p.c + 64'(enteredRows) * p.cPitch};
            enteredRows = enteredRows + 1;
            idle = 0;
            if (enteredRows == N) begin enteredRows = 0; streaming = 0; started = started + 1; end
          end
        end
      end
      idle = idle + 1;
      arrayActive <= idle < 3 * N + 8;
    end
  end
endmodule
