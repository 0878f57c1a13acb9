//! A compiled function, opened; the only place here that calls foreign code.

use std::ffi::{c_int, c_void};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use crate::device::Addresses;
use crate::kernels::{self, Scalar};

type Bind = unsafe extern "C" fn(*const c_void);
type Forward<T> = unsafe extern "C" fn(*const usize, *mut T) -> c_int;
type Backward<T> = unsafe extern "C" fn(*const usize, *const T, *mut T, *const usize);

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
        let text = |error: libloading::Error| error.to_string();
        // SAFETY: the file was compiled from our own text by this user; it has no initialisers.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(text)?;
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

    /// Runs every step; the step whose index was out of range, if there is one. The arena is as long as the layout says.
    pub fn forward(&self, inputs: Addresses, arena: &mut [T]) -> Option<usize> {
        // SAFETY: the inputs are those of the program (the promise of `Addresses`), and the executor, which alone has the
        // function, hands over an arena of its layout.
        let failed = unsafe { (self.forward)(inputs.as_slice().as_ptr(), arena.as_mut_ptr()) };
        usize::try_from(failed - 1).ok()
    }

    /// Adds up the adjoints; those of the results are there already.
    pub fn backward(&self, inputs: Addresses, arena: &[T], adjoints: &mut [T], gradients: Addresses) {
        let [inputs, gradients] = [inputs, gradients].map(|addresses| addresses.as_slice().as_ptr());
        // SAFETY: as for `forward`; the function only reads the arena.
        unsafe { (self.backward)(inputs, arena.as_ptr(), adjoints.as_mut_ptr(), gradients) }
    }
}
