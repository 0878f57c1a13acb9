"""Python values where C++ takes a Source, and the batches of a Stream as an iterator."""

import types


SOURCES = "a tree, a chain, a data frame, or the names of a tree and its file"

# What to give instead of objects of other libraries.
INSTEAD = {"uproot": "the names of the tree and its file", "awkward": "the frame that awkward.to_rdataframe makes"}


def is_node(value):
    return hasattr(type(value), "GetColumnType") and hasattr(type(value), "Count")


def is_tree(value):
    return hasattr(type(value), "GetListOfBranches")


def is_braced(value):
    """("tree", "file.root"), which C++ writes {"tree", "file.root"}."""
    return isinstance(value, tuple) and len(value) == 2 and is_text(value[0]) and expected("CladTorch::Files").fits(value[1])


def is_origin(value):
    """Whether it may be a source, or the name of a tree."""
    return is_node(value) or is_tree(value) or is_text(value) or is_braced(value) or is_a(value, "CladTorch::Source")


def as_node(value):
    """Every node of a data frame's graph has its own type; C++ takes the one that stands for all."""
    import ROOT

    return ROOT.RDF.AsRNode(value) if is_node(value) else value


def library_of(value):
    return type(value).__module__.partition(".")[0]


def not_source(value):
    """`value`, which is no source, as messages show it."""
    library = library_of(value)
    return named(value) + (f" of {library}: give {INSTEAD[library]}" if library in INSTEAD else "")


def takes_frame(cls, name, method):
    """`method`, whose first argument is a data frame."""
    wrapped = getattr(cls, method)

    def any_node(self, *args, **kwargs):
        for frame in (*args[:1], *(kwargs[key] for key in ("frame",) if key in kwargs)):
            if not is_node(frame):
                raise TypeError(f"{name}::{method} takes for 'frame' a data frame, not {named(frame)}")
        if "frame" in kwargs:
            kwargs["frame"] = as_node(kwargs["frame"])
        return wrapped(self, *map(as_node, args[:1]), *args[1:], **kwargs)

    any_node.__doc__ = wrapped.__doc__
    setattr(cls, method, any_node)


def is_source(cls):
    """Source(frame), Source(tree), Source(tree=..., files=...)"""
    make = cls.__init__

    def any_source(self, *args, **kwargs):
        import ROOT

        if len(args) == 1 and is_braced(args[0]):
            args = args[0]
        values = (*args, *kwargs.values())
        one = len(values) == 1 and (is_node(values[0]) or is_tree(values[0]) or isinstance(values[0], ROOT.CladTorch.Source))
        if not one and not is_braced(values):
            raise TypeError(f"a CladTorch::Source is {SOURCES}, not {' and '.join(map(not_source, values)) or 'nothing'}")
        names = ("tree", "files")[len(args) :] if not one else ("frame", "tree")
        if unknown := [key for key in kwargs if key not in names]:
            raise TypeError(f"a CladTorch::Source has no argument '{unknown[0]}': it takes frame; or tree; or tree, files")
        if "files" in kwargs:
            kwargs["files"] = as_files(kwargs["files"])
        args = (*args[:1], *map(as_files, args[1:]))
        return make(self, *map(as_node, args), **{key: as_node(value) for key, value in kwargs.items()})

    any_source.__doc__ = make.__doc__
    cls.__init__ = any_source


def as_source(value):
    """With an implicit conversion PyROOT would hide the errors of C++."""
    import ROOT

    return value if isinstance(value, (str, ROOT.CladTorch.Source)) else ROOT.CladTorch.Source(value)


def takes_weights(cls, name):
    """SetWeight("column"); a C++ function goes PyROOT's way to a template."""
    cls.SetWeight = text_or_function(
        cls.SetWeight,
        f"{name}::SetWeight",
        "column",
        "a weight that is a Python function has to be a column of a data frame, as frame.Define('w', f, ['x']) makes",
    )


def filters(cls, name):
    """Filter("cut"), and the same for a C++ function."""
    cls.Filter = text_or_function(
        cls.Filter,
        f"{name}::Filter",
        "cut",
        "a cut that is a Python function has to be a node of a data frame, as frame.Filter(f, ['x']) is",
    )


def is_cpp_function(value):
    return callable(value) and hasattr(type(value), "__cpp_name__")


def text_or_function(method, where, argument, of_python):
    """`method` takes text, the argument of this name, or the C++ function of a template and the columns that it reads.
    """

    def call(self, *args, **kwargs):
        values = (*args, *kwargs.values())
        if any(isinstance(each, (types.FunctionType, types.MethodType)) for each in values):
            raise TypeError(of_python)
        text = len(values) == 1 and is_text(values[0]) and set(kwargs) <= {argument}
        if not text and not (len(values) == 2 and is_cpp_function(values[0])):
            given = " and ".join(map(named, values)) or "nothing"
            raise TypeError(f"{where} takes for '{argument}' a string, or a C++ function and its columns, not {given}")
        return run(method, self, *values) if text else method(self, *args, **kwargs)

    call.__doc__ = method.__doc__
    return call


def label_of(value):
    """The constructor argument of a Label for a number, a column or a list of columns; None for anything else."""
    import ROOT

    if is_real(value) or is_truth(value):
        return float(value)
    if is_text(value):
        return ROOT.std.string(value)
    return ROOT.std.vector["std::string"](KINDS["vector<string>"].convert(value)) if is_texts(value) else None


def as_label(value):
    """A number, a column, or a list of columns as a Label; anything else unchanged."""
    import ROOT

    return value if label_of(value) is None else ROOT.CladTorch.Label(value)


def names_of(value):
    """The constructor argument of Files for a name or a list of names; None for anything else."""
    import ROOT

    names = [value] if is_text_or_path(value) else value
    if not isinstance(names, (list, tuple)) or not all(map(is_text_or_path, names)):
        return None
    return ROOT.std.vector["std::string"]([str(as_text(each)) for each in names])


def as_files(value):
    import ROOT

    return value if isinstance(value, ROOT.CladTorch.Files) else ROOT.CladTorch.Files(value)


def made_of(cls, name, words, argument_of):
    """A class of values that other values convert to: `argument_of` returns its constructor's argument, or None."""
    make = cls.__init__

    def any_value(self, *args):
        value = args[0] if len(args) == 1 else None
        taken = value if isinstance(value, cls) else argument_of(value)
        if taken is None:
            raise TypeError(f"a {name} is {words}, not {' and '.join(map(named, args)) or 'nothing'}")
        return make(self, taken)

    any_value.__doc__ = make.__doc__
    cls.__init__ = any_value


def takes_sources(cls, name):
    """Add(source, ...) with anything that makes a Source; a C++ function as a cut goes PyROOT's way to a template."""
    add = cls.Add
    where = f"{name}::Add"

    def any_source(self, *args, **kwargs):
        if any(isinstance(each, (types.FunctionType, types.MethodType)) for each in (*args, *kwargs.values())):
            raise TypeError(
                "a Python function is neither a label nor a cut: pass a data frame with its results, as "
                "frame.Define('y', f, ['x']) and frame.Filter(f, ['x']) make"
            )
        args = (*map(as_source, args[:1]), *args[1:])
        at = 2 if args and is_text(args[0]) else 1
        args = (*args[:at], *map(as_label, args[at : at + 1]), *args[at + 1 :])
        if "label" in kwargs:
            kwargs["label"] = as_label(kwargs["label"])
        if "source" in kwargs:
            kwargs["source"] = as_source(kwargs["source"])
        if any(map(is_cpp_function, args)):
            return add(self, *args, **kwargs)
        overload, bound = choose(where, add, args, kwargs)
        return run(overload, self, *bound)

    any_source.__doc__ = add.__doc__
    cls.Add = any_source


def takes_source(cls, method):
    """`method`, whose first argument is anything that makes a Source."""
    wrapped = getattr(cls, method)

    def any_source(self, *args, **kwargs):
        if "source" in kwargs:
            kwargs["source"] = as_source(kwargs["source"])
        return wrapped(self, *map(as_source, args[:1]), *args[1:], **kwargs)

    any_source.__doc__ = wrapped.__doc__
    setattr(cls, method, any_source)


def reads_sources(cls):
    """Jagged.Read with anything that makes a Source."""
    read = cls.Read

    def any_source(*args, **kwargs):
        if "source" in kwargs:
            kwargs["source"] = as_source(kwargs["source"])
        return read(*map(as_source, args[:1]), *args[1:], **kwargs)

    any_source.__doc__ = read.__doc__
    any_source.__name__ = "Read"
    cls.Read = staticmethod(any_source)


def gives_batches(cls, name):
    """for x in stream: otherwise PyROOT says that a stream does not support indexing."""

    def refused(self):
        raise TypeError(f"a {name} is read by its batches: for x, y, w in stream.Batches(options)")

    cls.__iter__ = refused


def is_model(cls, name):
    """Model(function, shape) of C++; other arguments would lead into PyROOT's list of templates."""
    make = cls.__init__

    def of_cpp(self, *args, **kwargs):
        values = (*args, *kwargs.values())
        if not values or not hasattr(type(values[0]), "__cpp_name__"):
            given = named(values[0]) if values else "nothing"
            raise TypeError(
                f"a {name} is made of a module or a function of LibTorch in C++ (gInterpreter.Declare), not of {given}; "
                "Mlp(sizes) makes a perceptron, Model.Load(path) reads a file"
            )
        return make(self, *args, **kwargs)

    of_cpp.__doc__ = make.__doc__
    cls.__init__ = of_cpp


def iterates(cls):
    """for x, y, w in batches"""

    def iteration(self):
        while self.Next():
            yield self.Features(), self.Labels(), self.Weights()

    cls.__iter__ = iteration
