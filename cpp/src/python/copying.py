"""copy, deepcopy and pickle. PyROOT's own way is ROOT's streamers, which these classes do not have."""

import os
import tempfile

# Copies share constant data until one of them changes: a copy is a deep copy.
COPIED = {
    *("Binary", "CrossValidation", "Dataset", "Ensemble", "Evaluation", "Files", "FitOptions", "CompileOptions", "Functor", "History", "Jagged", "Label", "Metric", "Mlp", "MlpOptions", "Model", "RandomSearch", "Scaler"),
    *("CoherentSearch", "MatchedFilter", "NetworkFilter", "Source", "View", "Whitener"),
}
# Plain numbers, as a call has determined them.
RECORDS = ("Bounds", "Candidate", "Epoch", "Injection", "Reach", "Response", "Sensitivity", "Strain", "Trial", "Trigger")
COPIED.update(RECORDS)
SHARED = {
    "Batches": "copies are the same batches: call Stream.Batches() for others",
    "OnlineSearch": "copies share what has arrived: make another one",
    "Stream": "copies are the same stream: make another one and add its sources",
    "Compiled": "copies share what they have compiled: compile the function again",
}
UNPICKLED = {
    "Batches": "make the stream there and call its Batches()",
    "Compiled": "compile the function there",
    "CrossValidation": "pickle its Models() and the arrays FoldOf() and Predictions()",
    "Dataset": "read its sources there, or pickle np.array(data.Features()), Labels() and Weights()",
    "Error": "pickle str(error)",
    "Evaluation": "pickle the arrays of predictions, labels and weights, and call Evaluation.Classifier() or Regression()",
    "Functor": "pickle the model and call its Functor()",
    "History": "pickle list(history.TrainLoss()), ValidationLoss() and Seconds()",
    "CoherentSearch": "make it there from its templates and responses",
    "MatchedFilter": "make it there from its template and the power spectral density",
    "OnlineSearch": "pickle the model and make it there",
    "NetworkFilter": "pickle the model and make it there",
    "Metric": "make it there, of an enumerator or a function",
    "RandomSearch": "pickle its Trials() and BestModel()",
    "Source": "pickle the names of tree and files",
    "Stream": "add its sources there",
    "Whitener": "make it there from the power spectral density",
}


def copies(cls, name):
    def copied(self, _memo=None):
        return type(self)(self)

    def refused(self, _memo):
        raise TypeError(f"a {name} has no deep copy; {SHARED[plain(name)]}")

    cls.__copy__ = copied
    cls.__deepcopy__ = refused if plain(name) in SHARED else copied


def refuses_pickle(cls, name):
    def refused(self, _protocol):
        raise TypeError(f"a {name} cannot be pickled: {UNPICKLED[plain(name)]}")

    cls.__reduce_ex__ = refused


def reached_as(function, cls, name):
    """Lets pickle find `function` in another process, where ROOT loads the plugin by the name of the class."""
    function.__module__ = "ROOT"
    function.__qualname__ = f"{name.replace('::', '.')}.{function.__name__}"
    setattr(cls, function.__name__, staticmethod(function))


def metric_name(metric):
    """The enumerator of a built-in metric."""
    import ROOT

    if not metric.IsBuiltIn():
        raise TypeError(f"the metric \"{metric.Name()}\" is a function, which cannot be pickled: set fMetrics in the other process")
    names = [each.GetName() for each in ROOT.TEnum.GetEnum("CladTorch::EMetric").GetConstants()]
    return next(each for each in names if ROOT.CladTorch.Metric(getattr(ROOT.CladTorch, each)).Name() == metric.Name())


# Constructor arguments that make an equal object.
PARTS = {
    "Files": lambda files: (files.Names(),),
    "Jagged": lambda jagged: (as_array(jagged.Values()).copy(), as_array(jagged.Offsets()).copy()),
    "Label": lambda label: (label.Number() if label.IsNumber() else label.Columns(),),
    "View": lambda view: (as_array(view).copy(),),
}


def pickles_by_parts(cls, name):
    parts = PARTS[plain(name)]

    def _from_parts(*values):
        return cls(*values)

    reached_as(_from_parts, cls, name)
    cls.__reduce_ex__ = lambda self, _protocol: (_from_parts, parts(self))


def pickles_by_fields(cls, name):
    known = fields(cls)

    def _from_fields(values):
        import ROOT

        made = cls()
        for field, value in values.items():
            setattr(made, field, [getattr(ROOT.CladTorch, each) for each in value] if field == "fMetrics" else value)
        return made

    def plain_value(value):
        """As Python's own type, which pickle supports."""
        if is_text(value):
            return str(value)
        kind = getattr(type(value), "__cpp_name__", "")
        if "CladTorch::Metric" in kind:
            return [metric_name(each) for each in value]
        if "function<" in kind:
            if value:
                raise TypeError(f"{name} with a function cannot be pickled: set fCallback in the other process")
            return None
        if "complex<" in kind:
            return list(map(complex, value))
        return list(value) if hasattr(value, "push_back") else value

    def reduced(self, _protocol):
        return _from_fields, ({field: plain_value(getattr(self, field)) for field in known},)

    reached_as(_from_fields, cls, name)
    cls.__reduce_ex__ = reduced


def pickles_by_file(cls, name):
    """Pickles by the model file; reading it does not run any of its contents."""

    def _from_file(content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.ct")
            with open(path, "wb") as file:
                file.write(content)
            return cls.Load(path)

    def reduced(self, _protocol):
        import ROOT

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.ct")
            try:
                self.Save(path)
            except ROOT.CladTorch.Error as error:
                raise TypeError(f"a {name} is pickled by its model file: {error}") from None
            with open(path, "rb") as file:
                content = file.read()
        _from_file(content)  # raises if it could not be read again
        return _from_file, (content,)

    reached_as(_from_file, cls, name)
    cls.__reduce_ex__ = reduced
