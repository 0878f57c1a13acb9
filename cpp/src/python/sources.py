"""What Python passes where C++ takes a Source, and the batches of a Stream as an iterator."""

import types


SOURCES = "a tree, a chain, a data frame, or the names of a tree and its file"


def is_node(value):
    return hasattr(type(value), "GetColumnType") and hasattr(type(value), "Count")


def is_tree(value):
    return hasattr(type(value), "GetListOfBranches")


def as_node(value):
    """Every node of a data frame's graph has a type of its own; C++ takes the one that stands for all."""
    import ROOT

    return ROOT.RDF.AsRNode(value) if is_node(value) else value


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

        values = (*args, *kwargs.values())
        one = len(values) == 1 and (is_node(values[0]) or is_tree(values[0]) or isinstance(values[0], ROOT.CladTorch.Source))
        if not one and not (len(values) == 2 and all(map(is_text, values))):
            raise TypeError(f"a CladTorch::Source is {SOURCES}, not {' and '.join(map(named, values)) or 'nothing'}")
        return make(self, *map(as_node, args), **{key: as_node(value) for key, value in kwargs.items()})

    any_source.__doc__ = make.__doc__
    cls.__init__ = any_source


def as_source(value):
    """With an implicit conversion PyROOT would hide the errors of C++."""
    import ROOT

    return value if isinstance(value, (str, ROOT.CladTorch.Source)) else ROOT.CladTorch.Source(value)


def takes_weights(cls, name):
    """SetWeight("column"); a C++ function takes PyROOT's way to a template."""
    wrapped = cls.SetWeight

    def column_or_function(self, *args, **kwargs):
        values = (*args, *kwargs.values())
        if any(isinstance(each, (types.FunctionType, types.MethodType)) for each in values):
            raise TypeError(
                "a weight that is a Python function has to be a column of a data frame, as frame.Define('w', f, ['x']) makes"
            )
        if len(values) == 1 and not is_text(values[0]):
            raise TypeError(f"{name}::SetWeight takes for 'column' a string, not {named(values[0])}")
        return wrapped(self, *args, **kwargs)

    column_or_function.__doc__ = wrapped.__doc__
    cls.SetWeight = column_or_function


def as_label(value):
    """A number, a column, or a list of columns as a Label; anything else as it is."""
    import ROOT

    if is_real(value) or isinstance(value, bool):
        return ROOT.CladTorch.Label(float(value))
    if is_text(value):
        return ROOT.CladTorch.Label(ROOT.std.string(value))
    if isinstance(value, (list, tuple)) and all(map(is_text, value)):
        return ROOT.CladTorch.Label(ROOT.std.vector["std::string"](value))
    return value


def takes_sources(cls, name):
    """Add(source, ...) for all that a Source is made of; a C++ function as a cut takes PyROOT's way to a template."""
    add = cls.Add
    where = f"{name}::Add"

    def any_source(self, *args, **kwargs):
        if any(isinstance(each, (types.FunctionType, types.MethodType)) for each in (*args, *kwargs.values())):
            raise TypeError(
                "a cut that is a Python function has to be a node of a data frame, as frame.Filter(f, ['x']) is"
            )
        args = (*map(as_source, args[:1]), *args[1:])
        at = 2 if args and is_text(args[0]) else 1
        args = (*args[:at], *map(as_label, args[at : at + 1]), *args[at + 1 :])
        if "label" in kwargs:
            kwargs["label"] = as_label(kwargs["label"])
        if "source" in kwargs:
            kwargs["source"] = as_source(kwargs["source"])
        if any(callable(each) and hasattr(type(each), "__cpp_name__") for each in args):
            return add(self, *args, **kwargs)
        overload, bound = choose(where, add, args, kwargs)
        return overload(self, *bound)

    any_source.__doc__ = add.__doc__
    cls.Add = any_source


def reads_sources(cls):
    """Jagged.Read of all that a Source is made of."""
    read = cls.Read

    def any_source(*args, **kwargs):
        if "source" in kwargs:
            kwargs["source"] = as_source(kwargs["source"])
        return read(*map(as_source, args[:1]), *args[1:], **kwargs)

    any_source.__doc__ = read.__doc__
    any_source.__name__ = "Read"
    cls.Read = staticmethod(any_source)


def iterates(cls):
    """for x, y, w in batches"""

    def iteration(self):
        while self.Next():
            yield self.Features(), self.Labels(), self.Weights()

    cls.__iter__ = iteration
