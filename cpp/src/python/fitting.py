"""model.Fit(x, y) for events in Python's memory: arrays of NumPy, frames of pandas, dictionaries of arrays."""

import math
import types

ROWS = [Parameter("", "x", None), Parameter("", "y", None), *(Parameter("", name, "None") for name in ("weight", "validation", "options"))]


def columns_of(model, table, others):
    """An empty dataset for the features of `table`: with the columns of `model` or, if it has none yet, all but the
    `others`.
    """
    import ROOT

    if model.Columns():
        return model.NewDataset()
    if table.names is None:
        return ROOT.CladTorch.Dataset([f"x{at}" for at in range(model.Inputs())])
    names = [name for name in table.names if name not in others]
    if not all(map(is_text, names)):
        raise TypeError(f"{table.kind} has columns whose names are no text: rename them, or give the numbers as an array")
    lengths = [length_of(table.events[name]) for name in names]
    if not any(lengths):
        return ROOT.CladTorch.Dataset(names)
    data = ROOT.CladTorch.Dataset()
    for name, length in zip(names, lengths):
        data.Column(name, length)
    return data


def length_of(values):
    """Length of the lists in a column; 0 for a column of numbers."""
    import numpy

    try:
        shape = numpy.shape(values)
    except ValueError:  # lists of several lengths: refused by name when they are read
        return 0
    return math.prod(shape[1:]) if len(shape) > 1 else 0


def names_in(value):
    """The columns that a label or a weight names."""
    if is_a(value, "CladTorch::Label"):
        return [] if value.IsNumber() else value.Columns()
    return [str(value)] if is_text(value) else [str(each) for each in value] if is_texts(value) else []


def filled(data, where, x, y, weight):
    """`data` with the events of `x`."""
    table = x if isinstance(x, Table) else Table(x)
    rows = rows_of(data, table)
    if not len(rows):
        raise TypeError(f"{where}: {table.kind} has no events")
    labels, targets = labels_of(table, y, len(rows))
    return add_rows(type(data).Add, data, rows, labels, weights_of(data, table, weight), targets)


def judges_of(data, name, validation, y, weight):
    """The validation events as a dataset like `data`; labels and weights that are columns have the same names."""
    if is_a(validation, "CladTorch::Dataset"):
        return validation
    shared = (y if names_in(y) else None, weight if is_text(weight) else None)
    parts = [validation] if is_table(validation) and not is_pair(validation) else validation
    if not isinstance(parts, (list, tuple)) or not 1 <= len(parts) <= 3 or not is_table(parts[0]):
        raise TypeError(
            f"{name}::Fit takes for 'validation' a CladTorch::Dataset or (x, y) or (x, y, weight), not {named(validation)}; a share of "
            "the events is fValidation=0.2"
        )
    events, label, weight = [*parts, *shared[len(parts) - 1 :]] if len(parts) < 3 else parts
    if label is None:
        raise TypeError(f"{name}::Fit takes for 'validation' the labels, too: (x, y)")
    return filled(data, f"{name}::Fit, validation", events, label, weight)


def is_pair(value):
    """Whether a tuple or list holds events and labels: as an array it could be one of two or three events."""
    return isinstance(value, (list, tuple)) and bool(value) and is_table(value[0])


def fits_tables(cls, name):
    """Fit(x, y, weight=..., validation=(x, y)) beside Fit(data)."""
    fit = cls.Fit

    def of_any(self, *args, **kwargs):
        first = args[0] if args else kwargs.get("x", kwargs.get("data"))
        if not is_table(first):
            if first is not None and not is_a(first, "CladTorch::Dataset") and not is_a(first, "CladTorch::Stream"):
                raise TypeError(f"{name}::Fit takes for 'data' a CladTorch::Dataset, a CladTorch::Stream, or for 'x' {TABLES}, not {named(first)}")
            if any(isinstance(each, types.FunctionType) for each in args[1:]):
                raise TypeError(f"{name}::Fit takes no Python function as a loss: give it as C++ text, fLossFunction='...'")
            return fit(self, *args, **kwargs)
        fields_given = {word: kwargs.pop(word) for word in list(kwargs) if word[:1] == "f" and word[1:2].isupper()}
        refuse_words(f"{name}::Fit", kwargs, [each.name for each in ROWS])
        try:
            x, y, weight, validation, options, *_ = [*bind(ROWS, args, kwargs), None, None, None]
        except Mismatch as fault:
            raise TypeError(f"{name}::Fit {fault}") from None
        table = Table(x)
        data = columns_of(self, table, names_in(y) + (names_in(weight) if is_text(weight) else []))
        judges = None if validation is None else judges_of(type(data)(data), name, validation, y, weight)
        events = filled(data, f"{name}::Fit", table, y, weight)
        given = [events] if judges is None else [events, judges]
        return fit(self, *given, **({} if options is None else {"options": options}), **fields_given)

    of_any.__doc__ = fit.__doc__
    of_any.__name__ = "Fit"
    cls.Fit = of_any
