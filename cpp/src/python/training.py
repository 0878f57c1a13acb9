"""model.Fit(data, fEpochs=5) beside model.Fit(data, options)."""


def takes_options(cls, name):
    fit = cls.Fit

    def with_keywords(self, *args, **kwargs):
        import ROOT

        kind = ROOT.CladTorch.FitOptions
        chosen = {field: kwargs.pop(field) for field in list(kwargs) if field[:1] == "f" and field[1:2].isupper()}
        if not chosen:
            return fit(self, *args, **kwargs)
        given = args[1] if len(args) > 1 else kwargs.pop("options", None)
        options = kind() if given is None else kind(given)
        for field, value in chosen.items():
            try:
                setattr(options, field, value)
            except AttributeError as error:
                raise TypeError(str(error)) from None
        return fit(self, *args[:1], *((options,) if args else ()), **kwargs, **({} if args else {"options": options}))

    with_keywords.__doc__ = fit.__doc__
    cls.Fit = with_keywords
