//! Compiled functions as opened libraries; the only place here that calls foreign code.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::device::{ReadPointer, ReadTensors, WritePointer, WriteTensors};
use crate::kernels::{self, Scalar};

type Loss = unsafe extern "C" fn(usize, usize, *const f64, *const f64, *mut f64, *mut f64, *mut c_char, usize) -> c_int;
type Values = unsafe extern "C" fn(usize, *const f64, *mut f64, *mut c_char, usize) -> c_int;
type Bind = unsafe extern "C" fn(*const c_void);
type Forward<T> = unsafe extern "C" fn(*const ReadPointer, *mut T) -> c_int;
type Backward<T> = unsafe extern "C" fn(*const ReadPointer, *const T, *mut T, *const WritePointer);

/// Forward and backward of one graph.
pub struct CompiledFunction<T> {
    forward: Forward<T>,
    backward: Backward<T>,
    /// Keeps the code where it is.
    _library: Library,
}

impl<T: Scalar> CompiledFunction<T> {
    /// Opens what [`emit`](super::emit) wrote and the compiler made of it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let library = open(path)?;
        // SAFETY: the emitted functions have these types, for the T that the text was emitted for; the kernels' table is
        // a constant of this library.
        unsafe {
            let bind: Symbol<Bind> = library.get(b"cladtorch_bind\0").map_err(text)?;
            bind(kernels::table_address::<T>());
            let forward: Symbol<Forward<T>> = library.get(b"cladtorch_forward\0").map_err(text)?;
            let backward: Symbol<Backward<T>> = library.get(b"cladtorch_backward\0").map_err(text)?;
            Ok(CompiledFunction { forward: *forward, backward: *backward, _library: library })
        }
    }

    /// Runs every step; the step whose index was out of range, if there is one. The arena is as long as the buffer assignment says.
    pub fn forward(&self, inputs: ReadTensors, arena: &mut [T]) -> Option<usize> {
        // SAFETY: the inputs are those of the program (the promise of `ReadTensors`), and the executor, which alone has the
        // function, hands over an arena of its buffer assignment.
        let failed = unsafe { (self.forward)(inputs.as_slice().as_ptr(), arena.as_mut_ptr()) };
        usize::try_from(failed - 1).ok()
    }

    /// Adds up the adjoints; those of the results are already there.
    pub fn backward(&self, inputs: ReadTensors, arena: &[T], adjoints: &mut [T], gradients: &mut WriteTensors) {
        let (inputs, gradients) = (inputs.as_slice().as_ptr(), gradients.as_slice().as_ptr());
        // SAFETY: as for `forward`; the function only reads the arena.
        unsafe { (self.backward)(inputs, arena.as_ptr(), adjoints.as_mut_ptr(), gradients) }
    }
}

/// A user's loss: value and derivative of each row.
pub struct LossFunction {
    function: Loss,
    /// Keeps the code where it is.
    _library: Library,
}

impl LossFunction {
    /// Opens what [`row_loss`](super::row_loss) wrote and the compiler made of it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let library = open(path)?;
        // SAFETY: the function that was written has this type.
        let function: Symbol<Loss> = unsafe { library.get(b"cladtorch_loss\0") }.map_err(text)?;
        Ok(LossFunction { function: *function, _library: library })
    }

    /// For each label the value of the loss, and its derivatives by the outputs: `outputs` and `slopes` are
    /// [labels, columns]. An error is what the function threw.
    pub fn run(&self, outputs: &[f64], labels: &[f64], values: &mut [f64], slopes: &mut [f64]) -> Result<(), String> {
        let columns = outputs.len().checked_div(labels.len()).unwrap_or(0);
        assert!(
            columns * labels.len() == outputs.len() && outputs.len() == slopes.len() && labels.len() <= values.len()
        );
        let [outputs, read] = [outputs, labels].map(<[f64]>::as_ptr);
        let (values, slopes) = (values.as_mut_ptr(), slopes.as_mut_ptr());
        // SAFETY: the slices are as long as the function takes them to be; what it does beside that, the user wrote.
        caught(|why, room| unsafe { (self.function)(labels.len(), columns, outputs, read, values, slopes, why, room) })
    }
}

/// A user's activation: value and derivative of each number.
pub struct ActivationFunction {
    values: Values,
    slopes: Values,
    /// Keeps the code where it is.
    _library: Library,
}

impl ActivationFunction {
    /// Opens what [`custom_activation`](super::custom_activation) wrote and the compiler made of it.
    pub fn open(path: &Path) -> Result<Self, String> {
        let library = open(path)?;
        // SAFETY: the functions that were written have this type.
        unsafe {
            let values: Symbol<Values> = library.get(b"cladtorch_values\0").map_err(text)?;
            let slopes: Symbol<Values> = library.get(b"cladtorch_slopes\0").map_err(text)?;
            Ok(ActivationFunction { values: *values, slopes: *slopes, _library: library })
        }
    }

    /// The value at each of `x`, or what the function threw.
    pub fn values(&self, x: &[f64], to: &mut [f64]) -> Result<(), String> {
        run(self.values, x, to)
    }

    /// The derivative at each of `x`, or what the function threw.
    pub fn slopes(&self, x: &[f64], to: &mut [f64]) -> Result<(), String> {
        run(self.slopes, x, to)
    }
}

fn run(function: Values, x: &[f64], to: &mut [f64]) -> Result<(), String> {
    assert_eq!(x.len(), to.len());
    // SAFETY: the slices have one length; what the function does beside writing that many numbers, the user wrote.
    caught(|why, room| unsafe { function(x.len(), x.as_ptr(), to.as_mut_ptr(), why, room) })
}

/// Calls a function that returns 0, or else has written the reason of its failure, truncated and with a zero at the
/// end.
fn caught(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), String> {
    let mut why = [0_u8; 256];
    match call(why.as_mut_ptr().cast(), why.len()) {
        0 => Ok(()),
        _ => Err(CStr::from_bytes_until_nul(&why).unwrap_or_default().to_string_lossy().into_owned()),
    }
}

fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: the file was compiled from our own text, and what the user put into it, by this user.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(text)
}

fn text(error: libloading::Error) -> String {
    error.to_string()
}
