/* Runs the package that ahead_of_time.py writes on a batch of grey images: libc and the runtime library are all it
   needs.

     python examples/pytorch/ahead_of_time.py .
     cc -I PREFIX/include examples/pytorch/ahead_of_time.c -L PREFIX/lib -ltilewright-runtime -o classify
     ./classify classifier.tw 4                                                                                      */
#include "tilewright/tilewright_runtime.h"

#include <stdio.h>
#include <stdlib.h>

enum { PIXELS = 3 * 64 * 64, CLASSES = 10 };

static int fail(const char *message) {
  fprintf(stderr, "classify: %s\n", message);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fail("usage: classify PACKAGE BATCH");
  tw_error error;
  tw_package *package;
  tw_function *forward;
  /* Weights are mapped, not read; the code is that for this processor. */
  if (tw_package_open(argv[1], &package, &error) || tw_function_load(package, NULL, NULL, &forward, &error))
    return fail(error.message);

  int64_t batch = strtoll(argv[2], NULL, 10); /* dynamic sizes in order of first appearance */
  const tw_program *program = tw_function_program(forward);
  size_t count = tw_program_arguments(program);
  float *images = calloc((size_t)batch * PIXELS + 1, sizeof(float));
  float *scores = calloc((size_t)batch * CLASSES + 1, sizeof(float));
  void **arrays = calloc(count, sizeof(*arrays)); /* null: the package has this array */
  if (!images || !scores || !arrays)
    return fail("no memory");
  for (size_t i = 0; i < (size_t)batch * PIXELS; ++i)
    images[i] = 0.5f;
  for (size_t i = 0; i < count; ++i) {
    const char *name = tw_package_argument_name(package, NULL, program, i);
    int holds;
    if (tw_package_holds(package, NULL, program, i, &holds, &error))
      return fail(error.message);
    if (name)
      printf("argument %zu, %s: %s\n", i, name, holds ? "of the package" : "of the caller");
  }
  arrays[0] = images;
  arrays[count - 1] = scores;
  if (tw_function_call(forward, &batch, arrays, &error))
    return fail(error.message);
  for (int64_t i = 0; i < batch; ++i) {
    int best = 0;
    for (int k = 1; k < CLASSES; ++k)
      best = scores[i * CLASSES + k] > scores[i * CLASSES + best] ? k : best;
    printf("image %lld: class %d, %.4f\n", (long long)i, best, scores[i * CLASSES + best]);
  }
  free(images), free(scores), free(arrays);
  tw_function_unload(forward);
  tw_package_close(package);
  return 0;
}
