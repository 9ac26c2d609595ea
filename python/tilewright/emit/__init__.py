"""Writes linalg on tensors as MLIR text: what the readers of all frameworks share. No framework is imported.

    function.py     one function: tensors, element-wise operations, reductions, views, control flow
    scalars.py      arithmetic on single elements, in the bodies of these operations     elements.py    functions of such elements
    types.py        element types        value.py    tensors        reshape.py    changes of shape
    sizes.py        dynamic sizes        forms.py    divisions of them
    context.py      what an emitter of one operation sees
    contract.py     contractions         convolution.py, windows.py    convolutions, pools
    reduce.py       reductions           scan.py     running ones
    order.py        sorting by counting  indices.py  reads and writes at computed indices
"""
