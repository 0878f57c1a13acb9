"""A view is an array for NumPy and a tensor for DLPack, without a copy; the taker keeps the memory alive.

A taker of DLPack before 1.0 cannot be told that the numbers are read only, so it gets a copy.

Views and Jagged are also sequences. PyROOT would make them of begin(), end() and the operators, of which none knows where
the numbers end.
"""

import operator

TYPES = {"float": "<f4", "double": "<f8", **dict.fromkeys(("long", "int64_t", "long long", "Long64_t"), "<i8")}


def array_interfaces(cls, name):
    type_string = TYPES[name.partition("<")[2].removesuffix(">").removeprefix("std::")]

    def interface(self):
        shape = (self.Rows(), self.Columns()) if self.Rank() == 2 else (self.Rows(),)
        return {"version": 3, "typestr": type_string, "shape": shape, "data": (int(self.Address()), True)}

    def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if stream is not None or dl_device not in (None, (1, 0)):
            raise BufferError(
                "a CladTorch view lies in host memory: ask for it there (dl_device (1, 0)) and move it"
            )
        versioned = max_version is not None and max_version[0] >= 1
        if not versioned and copy is False:
            raise BufferError(
                "a CladTorch view is read only, which DLPack before 1.0 cannot say: allow a copy, "
                "or ask with max_version=(1, 0)"
            )
        return self.DLPackCapsule(versioned, bool(copy) or not versioned)

    cls.__array_interface__ = property(interface)
    cls.__len__ = lambda self: int(self.Rows())
    cls.__getitem__ = lambda self, key: plain_number(as_array(self)[key])
    cls.__iter__ = lambda self: map(plain_number, as_array(self))
    cls.__call__ = checked_call(cls.__call__)
    cls.__dlpack__ = dlpack
    cls.__dlpack_device__ = lambda self: (1, 0)


def as_array(view):
    import numpy

    return numpy.asarray(view)


def plain_number(value):
    """A number of NumPy's as Python's; rows as they are."""
    return value if value.shape else value.item()


def checked_call(call):
    def element(self, row, column=0):
        for what, at, size in (("row", row, self.Rows()), ("column", column, self.Columns())):
            if not 0 <= at < size:
                raise IndexError(f"{what} {at} of a view with {size}")
        return call(self, row, column)

    element.__doc__ = call.__doc__
    return element


def is_sequence(cls):
    """Jagged: the lists of its events."""
    event = cls.__getitem__

    def at(self, row):
        rows = len(self)
        index = operator.index(row)
        if not -rows <= index < rows:
            raise IndexError(f"event {index} of {rows}")
        return event(self, index % rows)

    cls.__len__ = lambda self: int(self.Rows())
    cls.__getitem__ = at
    cls.__iter__ = lambda self: (event(self, row) for row in range(len(self)))
