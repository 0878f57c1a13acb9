//! The functions of a library that is opened at run time.

/// A struct `Functions` of the library's functions of these names, which return a status. Who uses it has checked their types.
macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ty),*);)*) => {
        struct Functions { $($field: Symbol<unsafe extern "C" fn($($argument),*) -> c_int>,)* }

        impl Functions {
            fn new(library: &Library) -> Result<Self, String> {
                // SAFETY: these are the types of the functions of that name.
                unsafe { Ok(Functions { $($field: library.get(concat!($name, "\0").as_bytes()).map_err(|error| error.to_string())?,)* }) }
            }
        }
    };
}

pub(super) use functions;
