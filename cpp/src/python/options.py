"""Structs of options: a field that does not exist, or a value of another kind, is an error where it is set."""


def fields(cls):
    return [name for name, member in cls.__dict__.items() if type(member).__name__ == "CPPDataMember"]


def check_fields(cls, name):
    import ROOT

    known = fields(cls)
    members = ROOT.TClass.GetClass(name)
    kinds = {field: str(members.GetDataMember(field).GetTrueTypeName()) for field in known}
    set_field = cls.__setattr__

    def set_checked(self, field, value):
        if field not in kinds:
            raise AttributeError(f"{name} has no field '{field}'; it has {', '.join(known)}")
        # An enumeration reads back as a plain integer, which then has to do here.
        enumeration = kinds[field].startswith("CladTorch::E") and is_integer(value)
        if fault := not enumeration and misfit(kinds[field], value):
            raise TypeError(f"{name}::{field} takes {fault}")
        try:
            set_field(self, field, converted(kinds[field], value))
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"{name}::{field} cannot be {value!r}: {error}") from None

    cls.__setattr__ = set_checked
    construct = cls.__init__

    def constructed(self, *args, **values):
        """PyROOT's own keywords would make every other field 0."""
        construct(self, *args)
        for field, value in values.items():
            setattr(self, field, value)

    cls.__init__ = constructed
