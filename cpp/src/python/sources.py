"""What Python passes where C++ takes a Source, and the batches of a Stream as an iterator."""

import types


def as_node(value):
    """Every node of a data frame's graph has a type of its own; C++ takes the one that stands for all."""
    import ROOT

    if hasattr(type(value), "GetColumnType") and hasattr(type(value), "Count"):
        return ROOT.RDF.AsRNode(value)
    return value


def takes_nodes(cls, method, parameter):
    wrapped = getattr(cls, method)

    def any_node(self, *args, **kwargs):
        if parameter in kwargs:
            kwargs[parameter] = as_node(kwargs[parameter])
        return wrapped(self, *map(as_node, args[:1]), *args[1:], **kwargs)

    any_node.__doc__ = wrapped.__doc__
    setattr(cls, method, any_node)


def as_source(value):
    """With an implicit conversion PyROOT would hide the errors of C++."""
    import ROOT

    return value if isinstance(value, (str, ROOT.CladTorch.Source)) else ROOT.CladTorch.Source(value)


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
