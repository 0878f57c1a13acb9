"""Data frames whose events other processes read (ROOT.RDF.Distributed, with Dask or Spark): the workers compute the
columns that a dataset needs, and this process gets them as arrays; or they write the columns that a stream needs, and
this process reads the files.
"""

FOLDERS = []  # of files for streams, until the session ends


def is_distributed(value):
    return "._distrdf." in type(value).__module__ and type(value).__name__ in ("NodeProxy", "RDataFrame")


def check_for_workers(text, known):
    """Refuses parts of an expression that CladTorch itself translates or checks, because workers would compute them
    differently.
    """
    if text not in known and any(sign in text for sign in "^$["):
        raise TypeError(
            f"'{text}' is computed by the workers as plain C++, without '^', 'Length$' and the like and '[i]', whose bounds nobody would check: "
            "let the frame Define a column of it"
        )


class Columns:
    """Columns of a frame, by the expressions that name them: ROOT gathers numbers, but no lists."""

    def __init__(self, frame):
        self.frame = frame
        self.known = {str(name) for name in frame.GetColumnNames()}
        self.names = {}  # by their expressions

    def add(self, text):
        """A column of one number per event."""
        check_for_workers(text, self.known)
        self.name(text)

    def name(self, text):
        if text not in self.names:
            self.names[text] = text if text in self.known else f"cladtorch_{len(self.names)}"
            if text not in self.known:
                self.frame = self.frame.Define(self.names[text], text)

    @staticmethod
    def elements(text, length):
        """The columns of a list: its elements, and its length after them."""
        element = "({0}).size() > {1} ? ({0})[{1}] : 0"
        return [*(element.format(text, at) for at in range(length)), f"({text}).size()"]

    def add_list(self, text, length):
        check_for_workers(text, self.known)
        for element in self.elements(text, length):
            self.name(element)

    def list_of(self, arrays, text, length):
        """[N, length]"""
        import numpy

        *elements, lengths = (arrays[self.names[element]] for element in self.elements(text, length))
        other = lengths[lengths != length]
        if len(other):
            raise TypeError(
                f"column '{text}' takes {length} numbers an event, and one has {other[0]}: let the frame Define a column of that length"
            )
        return numpy.stack(elements, 1)


def named_labels(label):
    """The columns that a label names."""
    label = list(label.Columns()) if is_a(label, "CladTorch::Label") and not label.IsNumber() else label
    return [str(label)] if is_text(label) else [str(each) for each in label] if is_texts(label) else []


def masks_among(names):
    """The masks among the names: not columns, but which elements of a list an event has."""
    return {name for name in names if name[:5] == "mask(" and name[5:-1] in names}


def written(stream, frame, label, cut):
    """Files with the columns of the stream `stream`, its labels and weights: the workers write them into the current
    folder of this process.
    """
    import os
    import tempfile

    import ROOT

    known = {str(name) for name in frame.GetColumnNames()}
    names = [str(name) for name in stream.Columns()]
    masks, weight = masks_among(names), str(stream.Weight())
    needed = [*dict.fromkeys([*(name for name in names if name not in masks), *named_labels(label), *([weight] if weight else [])])]
    for name in needed:
        if name not in known:
            raise TypeError(f"the frame has no column '{name}', and a stream reads what the workers write: let the frame Define it")
    temporary = tempfile.TemporaryDirectory(prefix="cladtorch_stream_", dir=os.getcwd())  # removed if this raises
    folder = temporary.name
    (frame.Filter(cut) if cut else frame).Snapshot("events", os.path.join(folder, "part.root"), needed)
    parts = sorted(os.listdir(folder), key=lambda name: (len(name), name))  # part_2.root before part_10.root
    files = [os.path.join(folder, name) for name in parts]

    def has_events(path):
        with ROOT.TFile.Open(path) as file:
            tree = file.Get("events")
            return bool(tree) and tree.GetEntries() > 0

    files = [path for path in files if has_events(path)]
    if not files:
        raise TypeError(f"no event of the frame passes the cut '{cut}'" if cut else "the frame has no events")
    FOLDERS.append(temporary)
    return files


def gathered(data, frame, label, cut, weight):
    """The columns of the dataset `data`, its labels and weights: arrays by their expressions."""
    labels = named_labels(label)
    lengths = dict(zip(map(str, data.Columns()), data.Lengths()))
    masks = masks_among(lengths)
    scalars = [*(name for name, length in lengths.items() if length == 1 and name not in masks), *labels, *([weight] if weight else [])]
    lists = {name: length for name, length in lengths.items() if length > 1 and name not in masks}
    columns = Columns(frame.Filter(cut) if cut else frame)
    for name in scalars:
        columns.add(name)
    for name, length in lists.items():
        columns.add_list(name, length)
    arrays = columns.frame.AsNumpy(list(columns.names.values()))
    return {
        **{name: arrays[columns.names[name]] for name in scalars},
        **{name: columns.list_of(arrays, name, length) for name, length in lists.items()},
    }


def takes_distributed(cls, name):
    """Add(frame, label, cut) of a frame whose events workers read."""
    add = cls.Add

    def any_events(self, *args, **kwargs):
        first = args[0] if args else kwargs.get("source")
        if not is_distributed(first):
            return add(self, *args, **kwargs)
        try:
            frame, label, cut, weight, *_ = [*bind(ARGUMENTS, args, kwargs), None, None]
        except Mismatch as fault:
            raise TypeError(f"{name}::Add {fault}") from None
        if not is_text(cut) and cut is not None:
            raise TypeError(f"the cut of a distributed frame is an expression, not {named(cut)}; a function is a node of it, as frame.Filter(f) is")
        check_for_workers(str(cut or ""), set())
        if name.endswith("::Stream"):
            return add(self, "events", written(self, frame, label, str(cut or "")), label)
        weight = self.Weight() if weight is None else weight
        if not is_text(weight):
            raise TypeError(f"the weight of a distributed frame is a column or an expression of it, not {named(weight)}")
        return add(self, gathered(self, frame, label, str(cut or ""), str(weight)), label, weight=weight)

    any_events.__doc__ = add.__doc__
    any_events.__name__ = "Add"
    cls.Add = any_events
