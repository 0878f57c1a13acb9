"""Python functions as callbacks of fits and as metrics."""

import collections
import ctypes
import itertools

# The function that C++ calls: argument, result, message, its size.
FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_char), ctypes.c_size_t
)
# C++ may call them as long as the process runs.
CALLED = []
# The last exceptions that left them, each with the beginning of the text that C++ has of it, in which unprintable
# characters are escaped. Several threads may fit.
RAISED = collections.deque(maxlen=8)


def of_cpp(name, result, *arguments):
    """A function of the plugin, which is already loaded."""
    return ctypes.CFUNCTYPE(result, *arguments)((name, ctypes.CDLL("libcladtorch.so")))


def as_function(function, kind, convert):
    """Makes `function`, which takes an object of the class `kind`, callable for C++. It gets a copy, which it may keep.
    """

    def called(argument, result, message, size):
        import ROOT

        try:
            result[0] = convert(function(kind(ROOT.bind_object(argument, kind))))
            return 0
        except BaseException as error:  # no exception may pass through C++
            text = f"{type(error).__name__}: {error}".encode(errors="replace")[: size - 1]
            RAISED.append(("".join(itertools.takewhile(str.isprintable, text.decode(errors="ignore"))), error))
            ctypes.memmove(message, text + b"\0", len(text) + 1)
            return 1

    CALLED.append(FUNCTION(called))
    return CALLED[-1]


def cause_of(error):
    """The exception of a Python function that C++ reports in `error`, or None."""
    for raised in reversed(RAISED):
        if raised[0] in str(error):
            RAISED.remove(raised)
            return raised[1]
    return None


def set_callback(options, function):
    import ROOT

    made = None if function is None else as_function(function, ROOT.CladTorch.Epoch, bool)
    of_cpp("CladTorchSetCallback", None, ctypes.c_void_p, FUNCTION)(ROOT.addressof(options), made or FUNCTION())


def takes_functions(cls, name):
    """Metric(name, function)"""
    make = cls.__init__

    def constructed(self, *args, **kwargs):
        import ROOT

        given = dict(zip(("name", "function"), args)) | kwargs
        is_one = len(args) == 1 and (is_enumerator(args[0]) or is_integer(args[0]) or is_a(args[0], name))
        if is_one and "function" not in given:
            return make(self, *args, **kwargs)  # PyROOT passes its own keyword when it converts a value
        if not is_text(given.get("name")) or not callable(given.get("function")) or len(given) != 2:
            raise TypeError(
                f"{name}(name, function) takes a string and a function of an Evaluation that returns a number; "
                f"{name}(constant) takes one{enumerators('CladTorch::EMetric')}"
            )
        make(self, ROOT.CladTorch.kAuc)
        function = as_function(given["function"], ROOT.CladTorch.Evaluation, float)
        set_metric = of_cpp("CladTorchSetMetric", ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p, FUNCTION)
        if not set_metric(ROOT.addressof(self), str(given["name"]).encode(), function):
            raise ValueError(f"{given['name']!r} is no name of a metric: it must be printable, without '; '")

    constructed.__doc__ = make.__doc__
    cls.__init__ = constructed
