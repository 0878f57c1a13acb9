"""A view is an array for NumPy and a tensor for DLPack, without a copy; the taker keeps the memory alive.

A taker of DLPack before 1.0 cannot be told that the values are read only, so it gets a copy.

Views and Jagged are also sequences. PyROOT would build them from begin(), end() and the operators, none of which knows
where the values end.
"""

import operator
import time


def number_of(name):
    """"double" of "CladTorch::View<double>"."""
    return bare(name).partition("<")[2].removesuffix(">")


def array_interfaces(cls, name):
    type_string = DTYPES[number_of(name)]

    def interface(self):
        shape = (self.Rows(), self.Columns()) if self.Rank() == 2 else (self.Rows(),)
        # NumPy 2.2, the last version for Python 3.10, rejects a null pointer even for an empty array.
        address = int(self.Address()) or id(self)
        return {"version": 3, "typestr": type_string, "shape": shape, "data": (address, True)}

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
    MAKERS[cls] = cls.__init__
    cls.__init__ = made_of_arrays(cls, name)
    cls.__len__ = lambda self: int(self.Rows())
    cls.__getitem__ = lambda self, key: plain_number(as_array(self)[checked_index(key, (self.Rows(), self.Columns()))])
    cls.__iter__ = lambda self: map(plain_number, as_array(self))
    cls.__call__ = checked_call(cls.__call__)
    cls.Reshape = checked(f"{name}::Reshape", cls.Reshape)
    cls.__dlpack__ = dlpack
    cls.__dlpack_device__ = lambda self: (1, 0)


MAKERS = {}  # PyROOT's own constructors of the classes of views


def borrowed(array):
    """A view, without a copy, of a float32 NumPy array that outlives it: for a call of C++ that does not keep the view.
    """
    import ROOT

    cls = ROOT.CladTorch.FloatView
    if not array.size:
        return cls()
    while cls not in MAKERS:  # PyROOT exposes a class to other threads before it calls the hook here
        time.sleep(0.001)
    view = cls.__new__(cls)
    MAKERS[cls](view, array, len(array), array.shape[1] if array.ndim == 2 else 0, ROOT.std.shared_ptr["const void"]())
    return view


def as_array(view):
    import numpy

    return numpy.asarray(view)


def complex_array(self, dtype=None, copy=None):
    """__array__ of a std::vector of complex numbers: PyROOT gives NumPy access only to real ones."""
    import ctypes

    import numpy
    import ROOT

    if copy is False:
        raise ValueError("the elements of a std::vector of complex numbers can be copied only")
    values = ctypes.string_at(ROOT.addressof(self.data()), 16 * len(self)) if len(self) else b""
    array = numpy.frombuffer(values, "c16").copy()
    return array if dtype is None else array.astype(dtype)


def reads_complex():
    """Called by PyROOT when it meets the class; must be called once."""
    import ROOT

    @ROOT.pythonization("vector<complex<double> >", ns="std")
    def of_vector(cls):
        cls.__array__ = complex_array


def plain_number(value):
    """A NumPy scalar as a Python number; rows unchanged."""
    return value if value.shape else value.item()


def checked_index(key, sizes):
    """`key`, checked for NumPy, whose error for an integer beyond 64 bits is unclear."""
    for what, at, size in zip(("row", "column"), key if isinstance(key, tuple) else (key,), sizes):
        if is_integer(at) and not -size <= at < size:
            raise IndexError(f"{what} {at} of a view with {size}")
    return key


def checked_call(call):
    def element(self, row, column=0):
        for what, at, size in (("row", row, self.Rows()), ("column", column, self.Columns())):
            if not 0 <= operator.index(at) < size:
                raise IndexError(f"{what} {at} of a view with {size}")
        return call(self, row, column)

    element.__doc__ = call.__doc__
    return element


def made_of_arrays(cls, name):
    """View(array): the values of an array of one or two dimensions, or of a list."""
    make = cls.__init__
    number = number_of(name)

    def any_numbers(self, *args):
        if not args or (len(args) == 1 and isinstance(args[0], cls)):
            return make(self, *args)
        array = array_of(args[0], ranks=(1, 2), letters="biuf") if len(args) == 1 else None
        if array is None:
            raise TypeError(f"a {name} is made of an array or a list of numbers, not {', '.join(map(named, args))}")
        try:
            numbers = exact(array, DTYPES[number])
        except Unfit as fault:
            raise TypeError(f"a {name} is made of {fault}") from None
        if array.ndim == 1:
            return make(self, numbers)
        return make(self, cls(numbers.ravel()).Reshape(array.shape[1]))

    any_numbers.__doc__ = make.__doc__
    return any_numbers


def takes_numbers(cls, name):
    """The call operator of a class whose only argument is the values of one event."""
    call = cls.__call__
    kind = KINDS["vector<float>"]

    class Checked:
        # ROOT's data frames recognise a C++ function by it.
        __class__ = property(lambda self: type(call))

        def __init__(self, owner):
            self.owner = owner

        def __get__(self, owner, _cls=None):
            return Checked(owner)

        def __call__(self, *args):
            if len(args) != 1 or not kind.fits(args[0]):
                given = ", ".join(map(named, args)) or "nothing"
                raise TypeError(f"a {name} is called with the numbers of one event as one list, not {given}")
            return run(call, self.owner, kind.convert(args[0]))

    cls.__call__ = Checked(None)


def gives_rows(cls, method):
    """Predictions as a NumPy array: [events] for one output, [events, outputs] for several; a gradient has the features
    last.
    """
    wrapped = getattr(cls, method)

    def shaped(self, *args, **kwargs):
        import numpy

        numbers = numpy.asarray(wrapped(self, *args, **kwargs)).copy()
        outputs = self.Members()[0].Outputs() if hasattr(self, "Members") else self.Outputs()
        shape = ([] if outputs == 1 else [outputs]) + ([self.Inputs()] if method == "Gradient" else [])
        return numbers.reshape(-1, *shape)

    shaped.__doc__ = wrapped.__doc__
    shaped.__name__ = method
    setattr(cls, method, shaped)


def takes_rows(cls, method, rows, count):
    """`method`, whose arguments `rows` may be arrays [N, C], from which its argument `count` is then taken."""
    wrapped = getattr(cls, method)
    names = [each.name for each in parameters(signatures(wrapped)[0])]

    def of_rows(*args, **kwargs):
        if len(args) > len(names) or any(name in kwargs for name in names[: len(args)]):
            return wrapped(*args, **kwargs)  # reports the fault
        given = {**dict(zip(names, args)), **kwargs}
        for name in rows:
            array = array_of(given.get(name), ranks=(2,))
            if array is not None:
                if given.setdefault(count, array.shape[1]) != array.shape[1]:
                    raise TypeError(f"CladTorch::Evaluation::{method} takes for '{name}' rows of {given[count]} numbers, not {named(array)}")
                given[name] = array.ravel()
        return wrapped(**given)

    of_rows.__doc__ = wrapped.__doc__
    of_rows.__name__ = method
    setattr(cls, method, staticmethod(of_rows))


# By the names of NumPy's types.
NUMPY_NUMBERS = {"float32": "float", "float64": "double", "int64": "std::int64_t"}


def name_types():
    """Jagged and View before they have a type. Called once: there is no class yet for which PyROOT would call a hook.
    """
    import ROOT

    class OfNumbers(type(ROOT.CladTorch.Jagged)):
        def __getitem__(self, kind):
            name = getattr(kind, "__name__", kind)
            number = NUMPY_NUMBERS.get(name, name)
            if not isinstance(number, str) or bare(number) not in DTYPES:
                raise TypeError(f"there is no {self.__name__} of {name}: write {self.written()}")
            return super().__getitem__(number)

        def __getattr__(self, name):
            raise AttributeError(f"{self.__name__} has no '{name}' before its numbers have a type: write {self.written()}")

        def __call__(self, *_args, **_words):
            raise TypeError(f"{self.__name__} is not made before its numbers have a type: write {self.written()}")

        def written(self):
            short = plain(self.__name__)
            return " or ".join(f'{short}["{number}"]' for number in ("float", "double", "std::int64_t", "Long64_t"))

    for template in (ROOT.CladTorch.Jagged, ROOT.CladTorch.View):
        template.__class__ = OfNumbers


def is_sequence(cls):
    """Jagged: the lists of its events as arrays, without a copy; a selection of its events as another Jagged."""

    def at(self, key):
        values, offsets = as_array(self.Values()), as_array(self.Offsets())
        if is_integer(key):
            if not -len(self) <= key < len(self):
                raise IndexError(f"event {key} of {len(self)}")
            row = int(key) % len(self)
            return values[offsets[row] : offsets[row + 1]]
        return cls(*chosen_events(values, offsets, key))

    cls.__len__ = lambda self: int(self.Rows())
    cls.__getitem__ = at
    cls.__iter__ = lambda self: map(self.__getitem__, range(len(self)))


def chosen_events(values, offsets, key):
    """Values and offsets of the events that NumPy chooses by `key`: a slice, a list of indices, a mask."""
    import numpy

    try:
        rows = numpy.arange(len(offsets) - 1)[key]
    except IndexError as error:
        found = "out of bounds" in str(error) or "did not match" in str(error)
        raise (IndexError if found else TypeError)(f"events of a Jagged by {named(key)}: {error}") from None
    if rows.ndim != 1:
        raise TypeError(f"a Jagged is indexed by events alone, not by {named(key)}: take a value of jagged[event]")
    lengths = (offsets[1:] - offsets[:-1])[rows]
    ends = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype("i8")
    return values[numpy.repeat(offsets[rows] - ends[:-1], lengths) + numpy.arange(ends[-1])], ends
