"""model.Fit(data, fEpochs=5) beside model.Fit(data, options), and so for each method that takes FitOptions."""


def refuses_near_fields(where, words):
    """epochs, batch_size: other libraries' names of fields."""
    import ROOT

    near = {field[1:].lower(): field for field in fields(ROOT.CladTorch.FitOptions)}
    for word in words:
        if field := near.get(word.lower().replace("_", "")):
            raise TypeError(f"{where} has no argument '{word}': write {field}")


def takes_options(cls, name, method, at):
    """FitOptions are the argument `at` of the method `method`."""
    wrapped = getattr(cls, method)

    def with_keywords(self, *args, **kwargs):
        import ROOT

        kind = ROOT.CladTorch.FitOptions
        chosen = {field: kwargs.pop(field) for field in list(kwargs) if field[:1] == "f" and field[1:2].isupper()}
        refuses_near_fields(f"{name}::{method}", kwargs)
        if not chosen:
            return wrapped(self, *args, **kwargs)
        given = args[at] if len(args) > at else kwargs.pop("options", None)
        options = kind() if given is None else kind(given)
        for field, value in chosen.items():
            try:
                setattr(options, field, value)
            except AttributeError as error:
                raise TypeError(str(error)) from None
        if len(args) < at:
            return wrapped(self, *args, options=options, **kwargs)
        return wrapped(self, *args[:at], options, *args[at + 1 :], **kwargs)

    with_keywords.__doc__ = wrapped.__doc__
    setattr(cls, method, with_keywords)
