//! cuBLASLt, NVIDIA's library of matrix products, opened when the first large product is there.
//!
//! Its matrices are stored column by column. The product c = a b of matrices that are stored row by row is to it c^T = b^T a^T: the
//! memory is the same, and the factors change places.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use super::driver::{Context, Handle};
use super::folders::{VERSIONS, named, usual};
use super::functions::functions;
use super::multiply::{Matrix, MatrixProduct, Numbers};
use crate::error::{Error, Result};

/// Bytes of memory that a product may take for sums of its own: what NVIDIA recommends for compute capability 9.0.
const WORKSPACE: usize = 32 << 20;
/// Bytes: no algorithm asks for a greater alignment.
const MOST_ALIGNED: usize = 256;
/// Bytes to set aside for a workspace wherever they begin.
pub const ASIDE: usize = WORKSPACE + MOST_ALIGNED;

// Numbers of CUDA's headers, unchanged since CUDA 11: cudaDataType, cublasComputeType_t, cublasOperation_t, cublasLtEpilogue_t.
const FLOATS: c_int = 0;
const DOUBLES: c_int = 1;
const SUMS_IN_FLOAT: c_int = 68;
const SUMS_IN_DOUBLE: c_int = 70;
const SUMS_OF_TF32: c_int = 77;
const SUMS_OF_BF16: c_int = 75;
const TRANSPOSED: c_int = 1;
const ADDS_BIAS: u32 = 4;

// Attributes of the library's descriptions.

/// CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB, _EPILOGUE and _BIAS_POINTER.
const FIRST_TRANSPOSED: c_int = 3;
const SECOND_TRANSPOSED: c_int = 4;
const EPILOGUE: c_int = 7;
const BIAS: c_int = 8;
/// CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT and _STRIDED_BATCH_OFFSET.
const BATCH_COUNT: c_int = 5;
const BATCH_STRIDE: c_int = 6;
/// CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, and _MIN_ALIGNMENT_A_BYTES to that of D.
const MOST_WORKSPACE: c_int = 1;
const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];

// Functions of cuBLASLt, with the types that they have since CUDA 11.
functions! {
    create "cublasLtCreate" (*mut Handle);
    destroy "cublasLtDestroy" (Handle);
    new_operation "cublasLtMatmulDescCreate" (*mut Handle, c_int, c_int);
    set_operation "cublasLtMatmulDescSetAttribute" (Handle, c_int, *const c_void, usize);
    end_operation "cublasLtMatmulDescDestroy" (Handle);
    new_layout "cublasLtMatrixLayoutCreate" (*mut Handle, c_int, u64, u64, i64);
    set_layout "cublasLtMatrixLayoutSetAttribute" (Handle, c_int, *const c_void, usize);
    end_layout "cublasLtMatrixLayoutDestroy" (Handle);
    new_preference "cublasLtMatmulPreferenceCreate" (*mut Handle);
    set_preference "cublasLtMatmulPreferenceSetAttribute" (Handle, c_int, *const c_void, usize);
    end_preference "cublasLtMatmulPreferenceDestroy" (Handle);
    choose "cublasLtMatmulAlgoGetHeuristic" (
        Handle, Handle, Handle, Handle, Handle, Handle, Handle, c_int, *mut Choice, *mut c_int
    );
    multiply "cublasLtMatmul" (
        Handle, Handle, *const c_void, *const c_void, Handle, *const c_void, Handle, *const c_void, *const c_void, Handle,
        *mut c_void, Handle, *const Algorithm, *mut c_void, usize, Handle
    );
}

/// `cublasLtMatmulAlgo_t`.
type Algorithm = [u64; 8];
/// For each product and each alignment of its numbers.
type Algorithms = HashMap<(MatrixProduct, [u32; 4]), Algorithm>;

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Choice {
    algorithm: Algorithm,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

type Set = Symbol<unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int>;
type End = Symbol<unsafe extern "C" fn(Handle) -> c_int>;

/// Something that the library describes, until it is dropped.
struct Described<'a> {
    handle: Handle,
    set: &'a Set,
    end: &'a End,
}

impl<'a> Described<'a> {
    fn new(make: impl FnOnce(*mut Handle) -> c_int, set: &'a Set, end: &'a End) -> Result<Self> {
        let mut handle = ptr::null_mut();
        check(make(&mut handle), "a description")?;
        Ok(Described { handle, set, end })
    }

    fn set<T: Copy>(&self, attribute: c_int, value: T) -> Result<()> {
        // SAFETY: the description is a live one; the library copies as many bytes as it is told, or refuses their number.
        let code = unsafe { (self.set)(self.handle, attribute, ptr::from_ref(&value).cast(), size_of::<T>()) };
        check(code, "an attribute")
    }
}

impl Drop for Described<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it again. What cannot be given back is lost, no more.
        unsafe { (self.end)(self.handle) };
    }
}

/// A product in the library's terms: the operation, and its factors and its result.
struct Plan<'a> {
    operation: Described<'a>,
    layouts: [Described<'a>; 3],
}

/// Addresses of the numbers of a product's matrices a, b and c, of its bias, and of [`ASIDE`] bytes.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub matrices: [usize; 3],
    pub bias: usize,
    pub aside: usize,
}

impl Places {
    /// Where the first number of each is, and where the workspace is.
    fn starting(mut self, product: &MatrixProduct) -> Self {
        let of = |start: usize| start * product.size();
        for (place, matrix) in self.matrices.iter_mut().zip(&product.matrices) {
            *place += of(matrix.start);
        }
        self.bias += of(product.bias.unwrap_or(0));
        self.aside = self.aside.next_multiple_of(MOST_ALIGNED);
        self
    }

    /// Bytes to which the matrices and the bias are aligned.
    fn alignments(&self) -> [u32; 4] {
        let [a, b, c] = self.matrices;
        [a, b, c, self.bias].map(|address| 1 << address.trailing_zeros().min(MOST_ALIGNED.ilog2()))
    }
}

/// The library on one GPU.
pub(super) struct Cublas {
    functions: Functions,
    handle: Handle,
    context: Arc<Context>,
    choices: Mutex<Algorithms>,
    /// What it does not multiply, and why.
    refused: Vec<(Numbers, String)>,
    /// Keeps the code where it is.
    _library: Library,
}

// SAFETY: the library's functions may be called from any thread with the same handle.
unsafe impl Send for Cublas {}
// SAFETY: as above.
unsafe impl Sync for Cublas {}

impl Cublas {
    /// The one beside LibTorch or on the linker's path; else why there is none.
    pub fn find(context: &Arc<Context>) -> Result<Self> {
        let mut tried = Vec::new();
        for path in paths() {
            match Self::open(&path, context) {
                Ok(found) => return Ok(found),
                Err(Error::Invalid { what, .. }) => tried.push(what),
                Err(other) => return Err(other),
            }
        }
        Err(Error::invalid(tried.join("; "), "install the Python package nvidia-cublas"))
    }

    /// The library at `path`.
    pub fn open(path: &Path, context: &Arc<Context>) -> Result<Self> {
        let (library, functions) = opened(path).map_err(|why| {
            Error::invalid(format!("no cuBLASLt ({why})"), "install the Python package nvidia-cublas")
        })?;
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is a variable's.
        check(context.enter(|| unsafe { (functions.create)(&mut handle) })?, "cublasLtCreate")?;
        Ok(Cublas {
            functions,
            handle,
            context: context.clone(),
            choices: Mutex::default(),
            refused: Vec::new(),
            _library: library,
        })
    }

    /// Whether the library has this product, wherever its numbers begin; else what it says.
    pub fn check(&self, product: &MatrixProduct) -> Result<()> {
        match self.refused.iter().find(|(numbers, _)| *numbers == product.numbers) {
            Some((_, why)) => Err(Error::Internal(why.clone())),
            None => self.anywhere(product).map(|_| ()),
        }
    }

    /// Multiplies no such numbers from now on.
    pub fn refuse(&mut self, numbers: Numbers, why: String) {
        self.refused.push((numbers, why));
    }

    /// The algorithm for numbers that begin anywhere.
    fn anywhere(&self, product: &MatrixProduct) -> Result<Algorithm> {
        let places = Places { matrices: [product.size(); 3], bias: product.size(), aside: 0 };
        self.choice(product, &self.functions.plan(product, &places)?, &places)
    }

    /// Multiplies on a stream.
    pub fn multiply(&self, product: &MatrixProduct, places: Places, stream: usize) -> Result<()> {
        let places = places.starting(product);
        let plan = self.functions.plan(product, &places)?;
        let algorithm = self.choice(product, &plan, &places).or_else(|_| self.anywhere(product))?;
        // Factors of the product and of what is there have the type of the sums.
        let doubles = [1.0_f64, f64::from(u8::from(product.adds))];
        let floats = doubles.map(|factor| factor as f32);
        let [one, kept]: [*const c_void; 2] = match product.numbers == Numbers::Double {
            true => doubles.each_ref().map(|factor| ptr::from_ref(factor).cast()),
            false => floats.each_ref().map(|factor| ptr::from_ref(factor).cast()),
        };
        let [a, b, c] = places.matrices.map(|place| place as *mut c_void);
        let [of_b, of_a, of_c] = plan.layouts.each_ref().map(|layout| layout.handle);
        // SAFETY: the caller's addresses are those of matrices as the product says, and of a workspace of that size.
        let code = self.context.enter(|| unsafe {
            (self.functions.multiply)(
                self.handle,
                plan.operation.handle,
                one,
                b,
                of_b,
                a,
                of_a,
                kept,
                c,
                of_c,
                c,
                of_c,
                &algorithm,
                places.aside as *mut c_void,
                WORKSPACE,
                stream as Handle,
            )
        })?;
        check(code, "cublasLtMatmul")
    }

    /// The algorithm that the library proposes.
    fn choice(&self, product: &MatrixProduct, plan: &Plan, places: &Places) -> Result<Algorithm> {
        let alignments = places.alignments();
        let mut choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = choices.get(&(*product, alignments)) {
            return Ok(*known);
        }
        let preference = self.functions.preference(alignments)?;
        let [of_b, of_a, of_c] = plan.layouts.each_ref().map(|layout| layout.handle);
        let (mut found, mut count) = (Choice::default(), 0);
        // SAFETY: all are live descriptions, and there is room for one answer.
        let code = self.context.enter(|| unsafe {
            let operation = plan.operation.handle;
            (self.functions.choose)(
                self.handle,
                operation,
                of_b,
                of_a,
                of_c,
                of_c,
                preference.handle,
                1,
                &mut found,
                &mut count,
            )
        })?;
        check(code, "cublasLtMatmulAlgoGetHeuristic")?;
        if count < 1 || found.state != 0 || found.workspace > WORKSPACE {
            return Err(Error::Internal("cuBLASLt proposes no algorithm".into()));
        }
        choices.insert((*product, alignments), found.algorithm);
        Ok(found.algorithm)
    }
}

impl Functions {
    /// The library's descriptions of a product.
    fn plan(&self, product: &MatrixProduct, places: &Places) -> Result<Plan<'_>> {
        let &MatrixProduct { numbers, sizes: [batches, m, n, k], matrices: [a, b, c], bias, .. } = product;
        let [sums, numbers] = match numbers {
            Numbers::Float => [SUMS_IN_FLOAT, FLOATS],
            Numbers::FloatAsTf32 => [SUMS_OF_TF32, FLOATS],
            Numbers::FloatAsBf16 => [SUMS_OF_BF16, FLOATS],
            Numbers::Double => [SUMS_IN_DOUBLE, DOUBLES],
        };
        // SAFETY: the handle is a variable's.
        let operation = Described::new(
            |handle| unsafe { (self.new_operation)(handle, sums, numbers) },
            &self.set_operation,
            &self.end_operation,
        )?;
        for (which, matrix) in [(FIRST_TRANSPOSED, b), (SECOND_TRANSPOSED, a)] {
            operation.set(which, if matrix.is_transposed { TRANSPOSED } else { 0 })?;
        }
        if bias.is_some() {
            operation.set(EPILOGUE, ADDS_BIAS)?;
            operation.set(BIAS, places.bias)?;
        }
        let layout = |matrix: Matrix, [rows, columns]: [usize; 2]| -> Result<Described> {
            let [rows, columns] =
                if matrix.is_transposed { [rows, columns] } else { [columns, rows] }.map(|size| size as u64);
            let make = |handle| {
                // SAFETY: as above.
                unsafe { (self.new_layout)(handle, numbers, rows, columns, matrix.leading as i64) }
            };
            let made = Described::new(make, &self.set_layout, &self.end_layout)?;
            let count = c_int::try_from(batches).map_err(|_| Error::Internal(format!("{batches} products at once")))?;
            made.set(BATCH_COUNT, count)?;
            made.set(BATCH_STRIDE, matrix.stride as i64)?;
            Ok(made)
        };
        Ok(Plan { operation, layouts: [layout(b, [k, n])?, layout(a, [m, k])?, layout(c, [m, n])?] })
    }

    /// What algorithms may ask for, if the matrices a, b and c and the bias are aligned to so many bytes.
    fn preference(&self, [a, b, c, _]: [u32; 4]) -> Result<Described<'_>> {
        // SAFETY: the handle is a variable's.
        let made = Described::new(
            |handle| unsafe { (self.new_preference)(handle) },
            &self.set_preference,
            &self.end_preference,
        )?;
        made.set(MOST_WORKSPACE, WORKSPACE as u64)?;
        for (attribute, bytes) in ALIGNMENTS.into_iter().zip([b, a, c, c]) {
            made.set(attribute, bytes)?;
        }
        Ok(made)
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // Best effort, as for memory.
        // SAFETY: nobody uses it again.
        let _ = self.context.enter(|| unsafe { (self.functions.destroy)(self.handle) });
    }
}

/// Where it may be.
fn paths() -> impl Iterator<Item = PathBuf> {
    named().map(Some).into_iter().chain(usual()).flat_map(|folder| {
        VERSIONS.map(|version| {
            let name = format!("libcublasLt.so.{version}");
            folder.as_ref().map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name))
        })
    })
}

fn opened(path: &Path) -> Result<(Library, Functions), String> {
    // SAFETY: NVIDIA's library, which runs nothing of ours when it is opened; it is closed with the last use of it.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| error.to_string())?;
    let functions = Functions::new(&library)?;
    Ok((library, functions))
}

fn check(code: c_int, what: &str) -> Result<()> {
    match code {
        0 => Ok(()),
        // Names of cublasStatus_t.
        3 => Err(Error::invalid(format!("cuBLASLt, {what}: out of memory"), "end what else uses the GPU")),
        _ => Err(Error::invalid(format!("cuBLASLt, {what}: status {code}"), "run it on the CPU, and please report it")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;

    /// The library refuses attributes of another number or size, and descriptions need no GPU.
    #[test]
    fn the_library_takes_what_describes_a_product() {
        let Some((_library, functions)) = paths().find_map(|path| opened(&path).ok()) else {
            // Past the runner, which withholds the output of passing tests; if nothing reads it, the test is unaffected.
            let _ = io::stderr().write_all(b"descriptions of products were not tried: cuBLASLt is not installed\n");
            return;
        };
        let matrix = |is_transposed| Matrix { start: 1, is_transposed, leading: 9, stride: 90 };
        for (numbers, is_transposed, bias) in [
            (Numbers::Float, false, Some(2)),
            (Numbers::FloatAsTf32, true, None),
            (Numbers::FloatAsBf16, true, None),
            (Numbers::Double, true, None),
        ] {
            let matrices = [matrix(is_transposed), matrix(!is_transposed), matrix(false)];
            let product = MatrixProduct { numbers, sizes: [2, 5, 7, 8], matrices, adds: true, bias };
            let places = Places { matrices: [256, 512, 1024], bias: 64, aside: 0 };
            let plan = functions.plan(&product, &places.starting(&product)).unwrap();
            assert!(plan.operation.set(-1, 0).is_err() && plan.operation.set(BIAS, 0_u8).is_err());
            functions.preference(places.alignments()).unwrap();
        }
    }
}
