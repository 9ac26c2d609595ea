//===- Numbers.td - Numbers of a chip beside memories and units -*- tablegen -*-===//
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is a field of its own with a unit and a source, in groups by what they
// say. A field that is not set is unknown; what counts then stands beside it.
// Chip inherits all groups:
//
//   def Acme1 : Chip<"acme1"> {
//     let fma_f32 = Fact<PerClock<2>, Measured<"24 independent chains">>;
//     let launch = Fact<Cycles<5000>, Guess<"as others of its kind">>;
//   }
//
// core/include/tilewright/Numbers.def has the same fields for C++; a test compares them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_CHIP_NUMBERS
#define TILEWRIGHT_CHIP_NUMBERS

include "dialects/Chip/MatrixUnit.td"

/// A number and where it comes from.
class Fact<Ratio value_, Source source_> {
  Ratio value = value_;
  Source source = source_;
}

/// Vector instructions per clock of one member of the innermost parallel level, of a subgroup where lanes are threads.
class ArithmeticNumbers {
  Fact fma_f32 = ?;          // PerClock
  Fact fma_f64 = ?;          // PerClock
  Fact add_f32 = ?;          // PerClock
  Fact mul_f32 = ?;          // PerClock
  Fact max_f32 = ?;          // PerClock
  Fact add_i32 = ?;          // PerClock
  Fact div_f32 = ?;          // PerClock
  Fact sqrt_f32 = ?;         // PerClock
  Fact exp2_f32 = ?;         // PerClock, of an instruction or of the polynomial that stands for it
  Fact ldexp_f32 = ?;        // PerClock; unset: no such instruction, powers of two are put together from bits
  Fact ldexp_f64 = ?;        // PerClock
  Fact native_exp2_f32 = ?;  // PerClock; unset: no instruction for 2^x that is right to two units in the last place
  Fact native_max_f32 = ?;   // PerClock; unset: no instructions for the larger of two, NaN kept or not
  Fact convert_bf16_f32 = ?; // PerClock
  Fact convert_f32_bf16 = ?; // PerClock
}

/// The same for instructions that move data.
class MoveNumbers {
  Fact load = ?;             // PerClock; unset: 1
  Fact store = ?;            // PerClock; unset: 1, on cores with caches half of it
  Fact broadcast_load = ?;   // PerClock, of one element into all of a vector
  Fact crossing_load = ?;    // PerClock, of a vector in two lines
  Fact masked_store = ?;     // PerClock, of some elements of a vector, with a mask; unset: as stores
  Fact shuffle = ?;          // PerClock; unset: 1
}

/// How cores with vectors meet memory, beside what the memories say. Only chips with a file of vector registers have these.
class CoreNumbers {
  defvar Usual = Guess<"usual for a server core of about 2018: measure it with tw-calibrate">;
  Fact core_issue = Fact<PerClock<4>, Usual>;          // instructions of all kinds
  Fact window = Fact<Count<224>, Usual>;               // instructions under way out of order
  Fact misses = Fact<Count<16>, Usual>;                // lines under way to a core that no prefetcher foresaw
  Fact store_misses = ?;                               // Count, the same of stores; unset: a quarter
  Fact streams = Fact<Count<16>, Usual>;               // rows that prefetchers follow at once
  Fact fetched_lines = Fact<Count<1>, Usual>;          // lines that a miss in one row more brings
  Fact followed = Fact<Part<1>, Usual>;                // of the bandwidth, what rows get that only hardware prefetches
  Fact hidden = Fact<Part<9, 10>, Usual>;              // of the time of prefetched lines, what work beside them hides
  Fact exposed = Fact<Part<0>, Usual>;                 // of the time of lines from beyond the first cache, what is waited for
  Fact ramp = Fact<Count<20>, Usual>;                  // lines until prefetching is far enough ahead of a row
  Fact shared_part = Fact<Part<1, 2>, Usual>;          // of a shared cache's bandwidth that a core counts on
  Fact crossing_traffic = Fact<Part<1>, Usual>;        // of a vector in two lines, from beyond the first cache
  Fact first_translations = Fact<Count<64>, Usual>;    // pages whose translations cost nothing
  Fact translations = Fact<Count<1024>, Usual>;        // pages that stay translated
  Fact translate = Fact<Cycles<7>, Usual>;             // of one beyond the first
  Fact walk = Fact<Cycles<60>, Usual>;                 // of a page that is not translated
  Fact walks = Fact<Count<2>, Usual>;                  // at once
  Fact line_bytes = Fact<Bytes<64>, Usual>;            // that belong together, where the chip has no caches
  Fact near_bytes = Fact<Bytes<32768>, Usual>;         // that stay near a core, on its stack too, where it has no caches
  Fact second_bytes = Fact<Bytes<262144>, Usual>;      // of which half a row is found again, where it has no caches
}

/// A program's threads on cores with vectors and caches. Only chips with both have these.
class TeamNumbers {
  Fact team = Fact<Nanoseconds<5000>, Guess<"usual for a server">>; // to wake the cores of a warm team, and to meet again
}

/// Launches and blocks of chips whose lanes are threads. Only these have them.
class LaneNumbers {
  defvar UsualLanes = Guess<"usual for a chip with many multiprocessors: measure it">;
  Fact issue = ?;                                      // PerClock, subgroup instructions of all kinds; unset: 1
  Fact subgroup_issue = ?;                             // PerClock, of one subgroup that works alone; unset: 1
  Fact issue_beside_units = ?;                         // PerClock, of one subgroup while units of others work; unset: as `subgroup_issue`
  Fact unit_turn = ?;                                  // Cycles, of a group's turn at its units beside their own; unset: 0
  Fact resident_threads = Fact<Count<2048>, UsualLanes>; // lanes that one multiprocessor holds at a time
  Fact launch = Fact<Cycles<4400>, UsualLanes>;        // until a launch's first and after its last instruction
  Fact drain = Fact<Cycles<100>, UsualLanes>;          // of a block behind its last step, beside what it stores
  Fact shuffle_latency = Fact<Cycles<30>, UsualLanes>; // of one exchange of two neighbours, with what combines them
  Fact barrier_latency = Fact<Cycles<40>, UsualLanes>; // until all lanes of a block go on
  Fact register_step = Fact<Count<8>, UsualLanes>;     // by how many registers move from lanes to others
  Fact near_instructions = ?;                          // Count, that the cache beside an issue port holds; unset: all
  Fact far_fetch = ?;                                  // Cycles of each instruction of longer code, beside its issue
}

/// How a back end writes the code of lanes, counted in what it wrote.
class LaneCodeNumbers {
  Fact address_instructions = ?; // Count, of a load from global memory in a loop; unset: 1
  Fact offset_registers = ?;     // Count, a load by base and offset keeps its offset in; unset: loads take pointers
  Fact load_alignment = ?;       // Bytes that divide the addresses of such loads; unset: as wide as they are
  Fact paired_accesses = ?;      // Count, of short accesses of the scratchpad in one instruction; unset: 1
  Fact access_waits = ?;         // Count, of each access of the scratchpad; unset: 0
  Fact permute_waits = ?;        // Count, of each permutation of bytes; unset: 0
  Fact fragment_waits = ?;       // Count, for the fragments of a unit's k, where a unit is issued in order; unset: not
  Fact direct_place = ?;         // Count, instructions that say where an asynchronous global-to-shared copy goes; unset: 0
  Fact float8_words = ?;         // Count, products of 16-bit floats that one of 8-bit floats is made of; unset: it is one
}

#endif // TILEWRIGHT_CHIP_NUMBERS
