"""Writes linalg on tensors as MLIR text: what the readers of all frameworks share. No framework is imported.

    function.py   one function: tensors, element-wise operations, reductions, views, control flow
    scalars.py    arithmetic on single elements, in the bodies of these operations
    types.py      element types        value.py   tensors        sizes.py   dynamic sizes        reshape.py   changes of shape
    contract.py   contractions         order.py   sorting by counting
"""
