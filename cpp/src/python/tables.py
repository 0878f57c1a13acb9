"""Events in Python's memory: NumPy arrays, pandas data frames (or alike), dictionaries of arrays.

They become float32 numbers, row by row. Values that are not numbers, or would silently lose digits, are refused with
the name of their column; pandas events are matched by their index.
"""

import collections.abc

TABLES = "an array [events, features], a frame of pandas or a dictionary of arrays"


def is_frame(value):
    return all(hasattr(value, name) for name in ("columns", "dtypes", "__getitem__"))


def is_structured(value):
    return bool(getattr(getattr(value, "dtype", None), "names", None))


def has_names(value):
    """Whether columns have names. An open tree of uproot is a mapping too, but not of arrays."""
    if library_of(value) in INSTEAD:
        return False
    return is_frame(value) or is_structured(value) or (isinstance(value, collections.abc.Mapping) and not is_map(value))


def is_table(value):
    of_cpp = getattr(type(value), "__cpp_name__", "")
    if of_cpp:
        return of_cpp.startswith("CladTorch::View<") and value.Rank() == 2
    return has_names(value) or array_of(value, ranks=(2,), letters="biufcmMOSU") is not None


def is_indexed(value):
    return hasattr(value, "index") and hasattr(value, "reindex")


class Table:
    """The columns of events, and the chosen events: a mask of True and False, or None for all."""

    def __init__(self, events, chosen=None):
        self.events = events
        self.kind = "the frame" if is_frame(events) else "the array" if hasattr(events, "dtype") else "the dictionary"
        self.names = None
        if has_names(events):
            self.names = list(events.dtype.names if is_structured(events) else getattr(events, "columns", events))
        self.indices = []  # of objects that must match
        if is_indexed(events):
            self.aligned("the features", events)
        self.chosen = None if chosen is None else self.mask(chosen)

    def column(self, name):
        if self.names is None:
            raise TypeError(f"an array has no column '{name}': give its numbers as an array")
        if name not in self.names:
            listed = ", ".join(map(repr, self.names[:20])) + (", ..." if len(self.names) > 20 else "")
            raise TypeError(f"{self.kind} has no column '{name}': it has {listed or 'none'}")
        if self.names.count(name) > 1:
            raise TypeError(f"{self.kind} has {self.names.count(name)} columns '{name}': rename them or drop the others")
        return self.numbers(f"column '{name}'", self.events[name])

    def numbers(self, what, values):
        """The chosen `values` as float32 of any rank."""
        self.aligned(what, values)
        try:
            array = plain_array(values)
            if not array.ndim:
                one = f", [{values}] for one" if is_real(values) else ""
                raise Unfit(f"a number for each event{one}, not {named(values)}")
            if self.chosen is not None:
                if len(array) != len(self.chosen):
                    raise Unfit(f"{len(self.chosen)} values, as the mask has, not {named(array)}")
                array = array[self.chosen]
            return exact(array, "<f4")
        except Unfit as fault:
            raise TypeError(f"{what} takes {fault}") from None

    def aligned(self, what, values):
        """Refuses what pandas would reorder."""
        if not is_indexed(values):
            return
        if self.indices:
            first, index = self.indices[0]
            if len(index) == len(values.index) and not index.equals(values.index):
                raise TypeError(
                    f"the index of {what} is not that of {first}: align them with reindex, or give its to_numpy() if the "
                    "events have the same order"
                )
        self.indices.append((what, values.index))

    def mask(self, values):
        if is_text(values) or callable(values):
            raise TypeError(
                "a cut of events in memory is an array of True and False, as frame['pt'] > 20; for an expression make a data "
                "frame of ROOT's, as ROOT.RDF.FromPandas(frame) or ROOT.RDF.FromNumpy(arrays)"
            )
        self.aligned("the cut", values)
        array = array_of(values, letters="b")
        if array is None:
            raise TypeError(f"a cut of events in memory is an array of True and False, not {named(values)}; weights are given as weight=...")
        return array


def plain_array(values):
    """`values` as an array of numbers, before its type is changed."""
    import numpy

    dtype = getattr(values, "dtype", None)
    if numpy.ma.is_masked(values):
        raise Unfit("numbers, not masked values: fill them, or drop these events")
    if str(dtype) == "category":
        raise Unfit("numbers, not categories: give their codes (.cat.codes), or a column for each (pandas.get_dummies)")
    own = getattr(dtype, "numpy_dtype", None)  # pandas types with missing values have it
    try:
        array = values.to_numpy(dtype=own) if own is not None and hasattr(values, "to_numpy") else numpy.asarray(values)
    except Exception as error:  # pandas or another library may raise anything
        raise Unfit(f"numbers, not {named(values)} ({error})") from None
    if array.dtype.kind in "mM":
        raise Unfit(f"numbers, not times ({array.dtype}): give the seconds since an event of your choice")
    if array.dtype.kind == "O" and array.size:
        culprit = next((each for each in array.flat if not is_real(each) and not is_truth(each)), array.flat[0])
        raise Unfit(f"numbers, not objects such as {named(culprit)}")
    if array.dtype.kind not in "biuf" and array.size:
        raise Unfit(f"numbers, not {named(array)}")
    return array


def rows_of(data, table):
    """[N, F], the values of the columns of the dataset `data`."""
    import numpy

    names, lengths = data.Columns(), list(data.Lengths())
    if table.names is None:
        rows = table.numbers("the array", table.events)
        if rows.shape[1] != sum(lengths):
            raise TypeError(
                f"an array of {sum(lengths)} columns is needed ({', '.join(names)}), not {named(rows)}"
            )
        return rows
    rows, at = None, 0
    for name, length in zip(names, lengths):
        inside = name[5:-1] if name[:5] == "mask(" and name not in table.names else ""
        if inside in names:
            column = numpy.ones((len(rows), length), "f4")  # nothing was padded
        else:
            column = table.column(name)
            numbers = column.size // len(column) if len(column) else length
            if numbers != length:
                raise TypeError(f"column '{name}' takes {length} number{'s' * (length > 1)} an event, not {named(column)}")
            column = column.reshape(len(column), length)
        if rows is None:
            rows = numpy.empty((len(column), sum(lengths)), "f4")
        if len(column) != len(rows):
            raise TypeError(f"column '{name}' has {len(column)} events, column '{names[0]}' {len(rows)}")
        rows[:, at : at + length] = column
        at += length
    if rows is None:
        raise TypeError("a dataset without columns: name at least one, as Dataset(['pt', 'eta'])")
    return rows


def labels_of(table, label, rows):
    """[N] or [N, T], and the names of the targets."""
    import numpy

    if is_real(label) or is_truth(label):
        with numpy.errstate(over="ignore"):  # C++ refuses infinity
            return numpy.full(rows, float(label), "f4"), []
    if is_text(label):
        return table.column(str(label)), [str(label)]
    if is_a(label, "CladTorch::Label"):
        return labels_of(table, label.Number() if label.IsNumber() else label.Columns(), rows)
    if is_texts(label) and len(label):
        names = [str(each) for each in label]
        if len(names) == rows > 1 and table.names is not None and not set(names) & set(table.names):
            raise TypeError(f"the label takes numbers or names of columns, not a text such as {names[0]!r} for each event: give labels == {names[0]!r}")
        columns = [table.column(name) for name in names]
        return (numpy.stack(columns, 1) if len(columns) > 1 else columns[0]), names
    if is_frame(label):
        table.aligned("the labels", label)
        return labels_of(Table(label, table.chosen), list(label.columns), rows)
    if array_of(label, ranks=(1, 2), letters="biufcmMOSU") is None:
        raise TypeError(f"CladTorch::Dataset::Add takes for 'label' a number, the name of a column, a list of names or an array, not {named(label)}")
    name = getattr(label, "name", None)
    return table.numbers("the label", label), [name] if is_text(name) and name else []


def weights_of(data, table, weight):
    """[N], or none if all are 1."""
    if weight is None:
        weight = data.Weight()
    if is_text(weight):
        return table.column(str(weight)) if weight else []
    return table.numbers("the weight", weight)


def add_rows(add, data, rows, labels, weights=(), targets=()):
    """Adds arrays of numbers by Dataset::Add, which copies them."""
    import numpy

    labels, weights = (exact(numpy.asarray(each), "<f4") for each in (labels, weights))
    # These arrays live until the call has ended.
    return add(data, features=borrowed(rows), labels=borrowed(labels), weights=borrowed(weights), targets=list(targets))


# Parameters of Add, for events in memory.
ARGUMENTS = [Parameter("", "source", None), Parameter("", "label", None), *(Parameter("", name, "None") for name in ("cut", "weight"))]


def takes_tables(cls, name):
    """Add(events, label, cut=mask, weight=column) for events in Python's memory, and Add(dataset)."""
    add = cls.Add

    def any_events(self, *args, **kwargs):
        first = args[0] if args else kwargs.get("source")
        if is_a(first, name) and len(args) + len(kwargs) == 1:
            return add(self, other=first)
        if not is_table(first):
            if (args or "source" in kwargs) and not is_origin(first):
                raise TypeError(f"{name}::Add takes for 'source' {SOURCES}, {TABLES}, not {not_source(first)}")
            return add(self, *args, **kwargs)
        try:
            events, label, cut, weight, *_ = [*bind(ARGUMENTS, args, kwargs), None, None]
        except Mismatch as fault:
            raise TypeError(f"{name}::Add {fault}") from None
        table = Table(events, None if cut is None or (is_text(cut) and not cut) else cut)
        rows = rows_of(self, table)
        if not len(rows):
            why = "it has no rows" if table.chosen is None else "no row passes the cut"
            raise TypeError(f"{table.kind} gives no events: {why}")
        labels, targets = labels_of(table, label, len(rows))
        return add_rows(add, self, rows, labels, weights_of(self, table, weight), targets)

    any_events.__doc__ = add.__doc__
    any_events.__name__ = "Add"
    cls.Add = any_events


def events_of(model, events):
    """The events of a table as a dataset with the columns of `model`."""
    import ROOT

    table = Table(events)
    if table.names is None and not model.Columns():
        data = ROOT.CladTorch.Dataset([f"x{at}" for at in range(model.Inputs())])
    else:
        data = model.NewDataset()
    rows = rows_of(data, table)
    return add_rows(type(data).Add, data, rows, [0.0] * len(rows)) if len(rows) else data


def predicts_tables(cls, name, method):
    """`method`, whose argument is a dataset, or events in Python's memory."""
    wrapped = getattr(cls, method)

    def of_any(self, *args, **kwargs):
        value = args[0] if args else kwargs.get("data")
        if array_of(value) is not None:
            raise TypeError(
                f"{name}::{method} takes for 'data' a CladTorch::Dataset, {TABLES}, not {named(value)}: one event is a row, [[...]]"
            )
        if is_table(value):
            if len(args) + len(kwargs) > 1:
                raise TypeError(f"{name}::{method} takes one argument, the events")
            model = self.Members()[0] if hasattr(self, "Members") else self  # all members of an ensemble take the same
            return wrapped(self, events_of(model, value))
        return wrapped(self, *args, **kwargs)

    of_any.__doc__ = wrapped.__doc__
    of_any.__name__ = method
    setattr(cls, method, of_any)


def joins(cls):
    """first + second, and sum() of a list of datasets."""

    def added(self, other):
        return cls(self).Add(other) if isinstance(other, cls) else NotImplemented

    cls.__add__ = added
    cls.__radd__ = lambda self, other: cls(self) if isinstance(other, int) and other == 0 else NotImplemented
