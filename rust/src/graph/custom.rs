//! An activation that the user wrote: the graph only refers to it, a back end has compiled it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// In the place of the name of an activation or a loss: C++ text of the user's own.
pub(crate) const CUSTOM: &str = "of the user's own";

/// A function of one number, with its derivative.
pub trait ScalarFunction: Send + Sync {
    /// As the user wrote it.
    fn text(&self) -> &str;

    /// C++ text of its derivative.
    fn derivatives(&self) -> &str;

    /// The value at each of `x`; both have one length. An exception from the function unwinds as an error.
    fn values(&self, x: &[f64], values: &mut [f64]);

    /// The derivative at each of `x`; both have one length. An exception from the function unwinds as an error.
    fn slopes(&self, x: &[f64], slopes: &mut [f64]);
}

/// A [`ScalarFunction`] in a graph. Two of the same text are the same.
#[derive(Clone)]
pub struct CustomActivation(Arc<dyn ScalarFunction>);

impl CustomActivation {
    /// Wraps a function that is ready.
    pub fn new(function: impl ScalarFunction + 'static) -> Self {
        CustomActivation(Arc::new(function))
    }
}

impl Deref for CustomActivation {
    type Target = dyn ScalarFunction;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for CustomActivation {
    fn eq(&self, other: &CustomActivation) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for CustomActivation {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "CustomActivation({:?})", self.text())
    }
}
