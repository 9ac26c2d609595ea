/* The driver of @NAME@ for Tilewright's runtime. Its board is this machine: lanes of a block run one after the other,
   from barrier to barrier, until there is a chip, whose driver library then does what the functions below say. */
#define _GNU_SOURCE
#include "tilewright/tilewright_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { most_lanes = 1024, stack_bytes = 65536, most_operands = 12, subgroup = 32 };
static struct lane {
  ucontext_t state;
  int number, ended;
} lanes[most_lanes], *running;
static ucontext_t board;
static char *stacks;
static uint32_t block[3], block_lanes;
static struct meeting {
  uint32_t arrived, round;
} at_barrier, at_shuffle[most_lanes / subgroup];
static int32_t exchanged[most_lanes];
static uint64_t a[most_operands];
typedef void (*code)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                     uint64_t, uint64_t);
static code kernel;

/* Until so many lanes have come here. */
static void meet(struct meeting *here, uint32_t count) {
  uint32_t round = here->round;
  if (++here->arrived == count)
    here->arrived = 0, ++here->round;
  while (here->round == round)
    swapcontext(&running->state, &board);
}

/* What a lane does, under the names that its code calls. */
int32_t lane_x(void) __asm__("@NAME@.lane_x");
int32_t lane_x(void) { return running->number; }
int32_t block_x(void) __asm__("@NAME@.block_x");
int32_t block_x(void) { return (int32_t)block[0]; }
int32_t block_y(void) __asm__("@NAME@.block_y");
int32_t block_y(void) { return (int32_t)block[1]; }
int32_t block_z(void) __asm__("@NAME@.block_z");
int32_t block_z(void) { return (int32_t)block[2]; }
void barrier(void) __asm__("@NAME@.barrier");
void barrier(void) { meet(&at_barrier, block_lanes); }
int32_t shuffle_index(int32_t value, int32_t lane) __asm__("@NAME@.shuffle_index");
int32_t shuffle_index(int32_t value, int32_t lane) {
  uint32_t number = (uint32_t)running->number, first = number / subgroup * subgroup;
  uint32_t lanes = block_lanes - first < subgroup ? block_lanes - first : subgroup;
  exchanged[number] = value;
  meet(&at_shuffle[first / subgroup], lanes);
  value = exchanged[first + (uint32_t)lane % subgroup];
  meet(&at_shuffle[first / subgroup], lanes); /* all have read */
  return value;
}
void copy(char *to, const char *from, int32_t bytes, int32_t valid) __asm__("@NAME@.copy");
void copy(char *to, const char *from, int32_t bytes, int32_t valid) {
  memcpy(to, from, (size_t)valid);
  memset(to + valid, 0, (size_t)(bytes - valid));
}
void commit_copy(void) __asm__("@NAME@.commit_copy");
void commit_copy(void) {}
void wait_copy(int32_t groups) __asm__("@NAME@.wait_copy");
void wait_copy(int32_t groups) { (void)groups; }

static void run_lane(void) {
  kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
  running->ended = 1;
}

static void run_block(uint32_t threads) {
  block_lanes = threads;
  for (uint32_t i = 0; i < threads; ++i) {
    getcontext(&lanes[i].state);
    lanes[i].state.uc_stack.ss_sp = stacks + i * stack_bytes;
    lanes[i].state.uc_stack.ss_size = stack_bytes;
    lanes[i].state.uc_link = &board;
    lanes[i].number = (int)i;
    lanes[i].ended = 0;
    makecontext(&lanes[i].state, run_lane, 0);
  }
  for (uint32_t left = threads; left;) {
    left = 0;
    for (running = lanes; running < lanes + threads; ++running) {
      if (!running->ended)
        swapcontext(&board, &running->state);
      left += !running->ended;
    }
  }
}

static tw_status launch(void *context, void *found, const tw_start *start, void *stream, tw_error *error) {
  if (start->threads > most_lanes || start->num_operands > most_operands)
    return tw_fail(error, TW_DEVICE_ERROR, "%s has more lanes or operands than the board", start->kernel);
  for (size_t i = 0; i < start->num_operands; ++i)
    a[i] = start->operands[i].kind == TW_POINTER ? (uint64_t)(uintptr_t)start->operands[i].pointer
                                                 : (uint64_t)start->operands[i].integer;
  kernel = (code)(uintptr_t)found;
  for (block[2] = 0; block[2] < start->grid[2]; ++block[2])
    for (block[1] = 0; block[1] < start->grid[1]; ++block[1])
      for (block[0] = 0; block[0] < start->grid[0]; ++block[0])
        run_block(start->threads);
  return TW_OK;
}

static tw_status open_board(int ordinal, void **context, char *name, size_t capacity, tw_error *error) {
  if (ordinal || !(stacks = malloc((size_t)most_lanes * stack_bytes)))
    return tw_fail(error, TW_NO_DRIVER, "there is one board of @NAME@, number 0");
  snprintf(name, capacity, "@NAME@'s board");
  return *context = stacks, TW_OK;
}
static void close_board(void *context) { free(context); }
static tw_status accepts(void *context, const tw_image *image, tw_error *error) {
  return strcmp(image->kind, "o") ? tw_fail(error, TW_WRONG_CHIP, "the board runs no '%s'", image->kind) : TW_OK;
}
static tw_status load(void *context, const tw_image *image, void **module, tw_error *error) {
  char folder[] = "/tmp/@NAME@-XXXXXX", path[64], command[256];
  if (!mkdtemp(folder))
    return tw_fail(error, TW_DEVICE_ERROR, "no folder for the code");
  snprintf(path, sizeof(path), "%s/code.o", folder);
  FILE *file = fopen(path, "wb");
  int written = file && fwrite(image->bytes, 1, image->count, file) == image->count;
  if (file)
    written &= !fclose(file);
  snprintf(command, sizeof(command), "cc -shared %s -o %s/code.so", path, folder);
  *module =
      written && !system(command) ? (snprintf(path, sizeof(path), "%s/code.so", folder), dlopen(path, RTLD_NOW)) : NULL;
  snprintf(command, sizeof(command), "rm -r %s", folder);
  if (!*module)
    (void)tw_fail(error, TW_DEVICE_ERROR, "the code does not link: %s", dlerror());
  return system(command) || !*module ? TW_DEVICE_ERROR : TW_OK;
}
static void unload(void *context, void *module) { dlclose(module); }
static tw_status find(void *context, void *module, const char *name, uint32_t shared, void **found, tw_error *error) {
  *found = dlsym(module, name);
  return *found ? TW_OK : tw_fail(error, TW_DEVICE_ERROR, "no kernel '%s'", name);
}
static tw_status allocate(void *context, int64_t bytes, void **memory, tw_error *error) {
  *memory = malloc((size_t)bytes);
  return *memory ? TW_OK : tw_fail(error, TW_NO_MEMORY, "no %lld bytes", (long long)bytes);
}
static void release(void *context, void *memory) { free(memory); }
static tw_status copy_bytes(void *context, void *to, const void *from, int64_t bytes, tw_error *error) {
  return memcpy(to, from, (size_t)bytes), TW_OK;
}
static tw_status wait(void *context, void *stream, tw_error *error) { return TW_OK; }
static tw_status create_event(void *context, void **event, tw_error *error) {
  return allocate(context, sizeof(struct timespec), event, error);
}
static tw_status record_event(void *context, void *event, void *stream, tw_error *error) {
  return clock_gettime(CLOCK_MONOTONIC, event), TW_OK;
}
static tw_status elapsed(void *context, void *start, void *end, double *seconds, tw_error *error) {
  struct timespec *from = start, *to = end;
  return *seconds = (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec), TW_OK;
}

const tw_driver tw_driver_@NAME@ = {
    sizeof(tw_driver), "@NAME@",  open_board, close_board, accepts, load,         unload,  find,         launch,
    allocate,          release, copy_bytes, copy_bytes,  wait,    create_event, release, record_event, elapsed};
