"""Writes docs/tensorflow-models.md: Keras models with random weights, compiled for this host beside eager.

    python3 -m venv build/venv-models-tf && build/venv-models-tf/bin/pip install tensorflow-cpu==2.21.0 jaxlib==0.10.2
    build/venv-models-tf/bin/python test/python/tf/library_models.py --write          # some minutes
    build/venv-models-tf/bin/python test/python/tf/library_models.py --only "VGG16;LSTM" --write

Nothing is downloaded. Each model runs in a process of its own and is compared with its float64 copy: results in evaluation, gradients
of all weights by a tape around the compiled function, then gradients and new statistics by a tape inside of it, in training without dropout.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs/tensorflow-models.md"
TIME_LIMIT = 600  # seconds of one model


def ratio(got, want, exact):
    """The largest error over eager's own, which counts as at least two units in the last place of f32 of the largest element."""
    import numpy as np
    worst = 0.0
    for g, w, x in zip(got, want, exact, strict=True):
        g, w, x = (np.asarray(a, np.float64) for a in (g, w, x))
        if g.shape != w.shape or not np.array_equal(np.isfinite(g), np.isfinite(w)):
            return float("nan")
        there = np.isfinite(w) & np.isfinite(x)
        if there.any():
            scale = abs(x[there]).max() + 1e-30
            ours, theirs = (abs(y - x)[there].max() / scale for y in (g, w))
            worst = max(worst, ours / max(theirs, 2.4e-7))
    return worst


def flat(results):
    import tensorflow as tf
    return [tf.convert_to_tensor(r) for r in tf.nest.flatten(results)]


def loss_of(results):
    import tensorflow as tf
    return tf.add_n([tf.reduce_mean(r ** 2) for r in flat(results)])


def gradients(function, model, arguments):
    """By a tape around the function."""
    import tensorflow as tf
    with tf.GradientTape() as tape:
        loss = loss_of(function(*arguments))
    return flat(tape.gradient(loss, [v.value for v in model.trainable_variables], unconnected_gradients=tf.UnconnectedGradients.ZERO))


def training(wrap, model, arguments):
    """Gradients by a tape inside of the function, then what the call has written to the other weights, which are put back."""
    import tensorflow as tf

    def step(*arguments):
        with tf.GradientTape() as tape:
            loss = loss_of(call_of(model, training=True)(*arguments))
        return tape.gradient(loss, [v.value for v in model.trainable_variables], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    before = [v.numpy() for v in model.non_trainable_variables]
    made = flat(wrap(step)(*arguments))
    written = [v.numpy() for v in model.non_trainable_variables]
    for variable, value in zip(model.non_trainable_variables, before, strict=True):
        variable.assign(value)
    return made + written


def call_of(model, **settings):
    return lambda *arguments: model(arguments[0] if len(arguments) == 1 else list(arguments), **settings)


def judge(name):
    """What one model gives, as JSON on standard output."""
    sys.path[:] = [path for path in sys.path if path != str(HERE)] + [str(HERE)]
    import keras
    import keras_models
    import tensorflow as tf
    import tilewright.tf
    model, arguments = keras_models.make(name)
    keras.config.set_dtype_policy("float64")
    keras.config.set_floatx("float64")
    wide, _ = keras_models.make(name)
    wide.set_weights(model.get_weights())
    exact = [a.astype("float64") if a.dtype == "float32" else a for a in arguments]
    arguments, exact = ([tf.constant(a) for a in given] for given in (arguments, exact))
    for layer in [*model._flatten_layers(), *wide._flatten_layers()]:
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    compiled, row = tilewright.tf.function(call_of(model)), {}
    row["forward"] = ratio(flat(compiled(*arguments)), flat(call_of(model)(*arguments)), flat(call_of(wide)(*exact)))
    if name in keras_models.FORWARD_ALONE:
        return print(json.dumps(row))
    row["gradients"] = ratio(gradients(compiled, model, arguments), gradients(call_of(model), model, arguments),
                             gradients(call_of(wide), wide, exact))
    row["training"] = ratio(*(training(*given) for given in ((tilewright.tf.function, model, arguments), (lambda f: f, model, arguments),
                                                             (lambda f: f, wide, exact))))
    print(json.dumps(row))


def row_of(name):
    """What `judge` says in a process of its own; `error` where there is nothing."""
    try:
        run = subprocess.run([sys.executable, __file__, "--judge", name], capture_output=True, text=True, timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {TIME_LIMIT} s"}
    if run.returncode:
        return {"error": (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]}
    return json.loads(run.stdout.splitlines()[-1])


def text_of(name, row):
    if "error" in row:
        return f"| {name} | {row['error'][:160]} | | |"
    gradients, training = (f"{row[k]:.1f}" if k in row else "" for k in ("gradients", "training"))
    return f"| {name} | {row['forward']:.1f} | {gradients} | {training} |"


HEAD = """# Keras models

Do models of Keras compile as they are? Written by `test/python/tf/library_models.py --write`: the families of `keras.applications` and
layers as networks use them, with random weights and small inputs, f32, on the host. The largest error of all results, and of the gradients of
all weights, against float64, as a multiple of eager's own. *Gradients*: by a tape around the compiled function, in evaluation. *In training*: by a
tape inside of it, and the statistics that the call writes, without dropout. "nan": another result, or NaN where eager has numbers.
"""


def section(title, names, rows):
    return f"\n## {title}\n\n| model | error of results | of gradients | in training |\n|---|---|---|---|\n" + "".join(
        rows[name] + "\n" for name in names if name in rows)


def written():
    """The rows of the page, by model."""
    lines = PAGE.read_text().splitlines() if PAGE.exists() else []
    return {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="names of models, with semicolons between them")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}; with --only, the rows of these models")
    parser.add_argument("--judge", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("TILEWRIGHT_SDK", str(ROOT / "build/release"))
    os.environ["PYTHONPATH"] = str(ROOT / "python")
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    sys.path[:] = [str(ROOT / "python"), *(path for path in sys.path if path != str(ROOT / "test/python"))]
    if options.judge:
        return judge(options.judge)
    sys.path.append(str(HERE))
    import keras_models
    rows = written() if options.only else {}
    for name in options.only.split(";") if options.only else keras_models.MODELS:
        rows[name] = text_of(name, row_of(name))
        print(rows[name], flush=True)
    if options.write:
        title = f"keras.applications {importlib.metadata.version('keras')}"
        PAGE.write_text(HEAD + section(title, keras_models.APPLICATIONS, rows) + section("Layers", keras_models.LAYERS, rows))



if __name__ == "__main__":
    main()
