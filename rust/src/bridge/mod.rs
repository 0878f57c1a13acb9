//! The border to C++, one `#[cxx::bridge]` a topic. Each function that can fail is one line through
//! [`guard`](crate::error::guard), which turns a panic or an [`Error`](crate::Error) into a `rust::Error` on the C++ side;
//! the others only read a field.
//!
//! A type belongs to one topic; other topics name it with `type X = crate::bridge::topic::X` in an `extern "C++"` block,
//! beside the header of that topic. For an opaque Rust type this takes `#[derive(ExternType)]` at home.

/// Conversions between a shared enum and the one of the domain. A member of the domain that is not listed does not compile.
macro_rules! shared_enum {
    ($shared:ident is $domain:ty, $what:literal: $($member:ident)*) => {
        impl TryFrom<$shared> for $domain {
            type Error = crate::Error;

            fn try_from(shared: $shared) -> crate::Result<Self> {
                match shared {
                    $($shared::$member => Ok(<$domain>::$member),)*
                    $shared { repr } => Err(super::unknown_number($what, repr)),
                }
            }
        }

        impl From<$domain> for $shared {
            fn from(ours: $domain) -> Self {
                match ours {
                    $(<$domain>::$member => $shared::$member,)*
                }
            }
        }
    };
}

mod columns;
mod compiled;
mod dataset;
mod evaluate;
mod files;
mod interpreter;
mod libtorch;
mod loss;
mod model;
mod network;
mod observed;
mod online;
mod process;
mod random_search;
mod ranks;
mod search;
mod signal;
mod state_dict;
mod strain;
mod stream;
mod threads;
mod training;

use crate::error::Error;

fn unknown_number(what: &str, number: u8) -> Error {
    Error::invalid(format!("{what} {number} is unknown"), "use a named constant")
}
