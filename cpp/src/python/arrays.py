"""A view is an array for NumPy and a tensor for DLPack, without a copy; the taker keeps the memory alive.

A taker of DLPack before 1.0 cannot be told that the numbers are read only, so it gets a copy.
"""

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
    cls.__dlpack__ = dlpack
    cls.__dlpack_device__ = lambda self: (1, 0)
