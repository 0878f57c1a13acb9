"""How Python shows an object: its repr, its length, and a table in notebooks."""

import html

LENGTHS = {"Dataset": "Rows", "Evaluation": "Events", "History": "Epochs"}


def counted(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def listed_names(names, most=8):
    return ", ".join(names[:most]) + (f", ... ({len(names)})" if len(names) > most else "")


def enumerator_names(cls, name):
    """For each field of a class of options that is an enumeration, the names of its values."""
    import ROOT

    members = ROOT.TClass.GetClass(name)
    enums = {field: ROOT.TEnum.GetEnum(str(members.GetDataMember(field).GetTrueTypeName())) for field in fields(cls)}
    return {
        field: {int(each.GetValue()): str(each.GetName()) for each in enum.GetConstants()} for field, enum in enums.items() if enum
    }


def shown_options(cls, name):
    """FitOptions(fEpochs=5): the fields that differ from their defaults; for a record all fields."""
    names = enumerator_names(cls, name)

    def shown(value, field):
        if field in names:
            return names[field].get(int(value), repr(value))
        if field == "fCallback":
            return "<function>" if value else "None"
        if field == "fMetrics":
            return f"[{', '.join(metric_name(each) if each.IsBuiltIn() else str(each.Name()) for each in value)}]"
        return repr(str(value) if is_text(value) else list(value) if hasattr(value, "push_back") else value)

    def options(self):
        usual = cls()
        values = {field: (shown(getattr(self, field), field), shown(getattr(usual, field), field)) for field in fields(cls)}
        return f"{plain(name)}({', '.join(f'{field}={now}' for field, (now, was) in values.items() if now != was or plain(name) in RECORDS)})"

    return options


def dataset_text(self):
    names = self.Targets()
    targets = f", {'label' if len(names) == 1 else 'targets'} {listed_names(names)}" if names else ""
    return f"<Dataset: {counted(self.Rows(), 'event')} x {counted(self.Width(), 'number')} ({listed_names(self.Columns())}){targets}>"


def model_text(self):
    kind = plain(type(self).__cpp_name__)
    sizes = f"{counted(self.Inputs(), 'input')}, {counted(self.Outputs(), 'output')}, {counted(len(self.Parameters()), 'parameter')}"
    columns = listed_names(self.Columns())
    return f"<{kind}: {sizes}{f', of {columns}' * bool(columns)}>"


def history_text(self):
    if not len(self):
        return "<History: no epochs>"
    last = self[-1]
    of_validation = f", validation {last['validation_loss']:.5g}" if last["validation_loss"] == last["validation_loss"] else ""
    return f"<History: {counted(len(self), 'epoch')}, loss {last['train_loss']:.5g}{of_validation}{', interrupted' * bool(self.Interrupted())}>"


def evaluation_text(self):
    return f"<Evaluation: {counted(self.Events(), 'event')}, {counted(self.Outputs(), 'output')}>"


def stream_text(self):
    return f"<Stream: {counted(int(self.Entries()), 'entry').replace('entrys', 'entries')} x {counted(self.Width(), 'number')} ({listed_names(self.Columns())})>"


def view_text(self):
    import numpy

    with numpy.printoptions(threshold=50):
        return f"View({as_array(self)!r})"


TEXTS = {
    "Dataset": dataset_text,
    "Evaluation": evaluation_text,
    "Files": lambda self: f"Files({self.Names()!r})",
    "Functor": lambda self: f"<Functor of {counted(self.Inputs(), 'number')}>",
    "History": history_text,
    "Jagged": lambda self: f"<Jagged: {counted(len(self), 'event')}, {counted(len(self.Values()), 'value')}>",
    "Label": lambda self: f"Label({self.Number() if self.IsNumber() else self.Columns()!r})",
    "Mlp": model_text,
    "Model": model_text,
    "Scaler": lambda self: f"Scaler(fMean={list(self.fMean)!r}, fDeviation={list(self.fDeviation)!r})",
    "Stream": stream_text,
    "View": view_text,
}


def shows(cls, name):
    kind = plain(name)
    if kind in LENGTHS:
        count = getattr(cls, LENGTHS[kind])
        cls.__len__ = lambda self: int(count(self))
    text = shown_options(cls, name) if kind.endswith("Options") or kind in RECORDS else TEXTS.get(kind)
    if text:
        cls.__repr__ = cls.__str__ = text
    if kind in ("Dataset", "History"):
        cls._repr_html_ = html_of_columns if kind == "Dataset" else html_of_epochs


def html_table(caption, head, rows):
    cells = "".join(f"<th>{html.escape(each)}</th>" for each in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><caption>{html.escape(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def html_of_columns(self):
    """A line for each of the first columns, with its mean and its range."""
    at, rows = 0, []
    features = as_array(self.Features())
    for name, length in [*zip(self.Columns(), self.Lengths())][:40]:
        part = features[:, at : at + length]
        figures = (part.mean(dtype="f8"), part.std(dtype="f8"), part.min(), part.max()) if part.size else ("", "", "", "")
        rows.append([name, str(length), *(f"{figure:.4g}" if figure != "" else "" for figure in figures)])
        at += length
    return html_table(repr(self)[1:-1], ("column", "numbers", "mean", "standard deviation", "least", "most"), rows)


def html_of_epochs(self):
    """A line for each epoch; of many, the first and the last ones."""
    epochs = list(self)
    shown = epochs if len(epochs) <= 20 else epochs[:5] + [None] + epochs[-14:]
    names = list(epochs[0]) if epochs else ["epoch"]
    rows = [["..."] * len(names) if each is None else [f"{each[name]:.6g}" for name in names] for each in shown]
    return html_table(repr(self)[1:-1], [name.replace("_", " ") for name in names], rows)


# The figures that History has for each epoch.
PER_EPOCH = {"train_loss": "TrainLoss", "validation_loss": "ValidationLoss", "learning_rate": "LearningRate", "seconds": "Seconds"}


def lists_epochs(cls):
    """for epoch in history: a dictionary of its number and figures; history[-1] the last one."""

    def records(self):
        columns = {name: list(getattr(self, method)()) for name, method in PER_EPOCH.items()}
        columns |= {name: list(self.Metric(name)) for name in self.MetricNames()}
        return [{"epoch": number, **dict(zip(columns, values))} for number, values in enumerate(zip(*columns.values()), 1)]

    def at(self, key):
        if not is_integer(key) and not isinstance(key, slice):
            raise TypeError(f"epochs of a History are chosen by a number or a slice, not {named(key)}")
        try:
            return records(self)[key]
        except IndexError:
            raise IndexError(f"epoch {key} of a History with {len(self)}") from None

    cls.__iter__ = lambda self: iter(records(self))
    cls.__getitem__ = at
