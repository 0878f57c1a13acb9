//! Safetensors files: tensors are written from the memory of their elements. Those of float32 are read piece by piece
//! to their destination, so that no file is in memory as a whole; tensors of unknown sizes are read unchanged.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

pub use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use crate::atomic_file;
use crate::error::{Error, Result};
use crate::text;

/// Bytes before the header, which state its length.
const LENGTH: usize = 8;
/// Largest header that is read, in bytes: one that describes 100 000 columns is no longer.
pub const LONGEST_HEADER: u64 = 1 << 23;
/// Numbers that are converted at a time.
const PIECE: usize = 1 << 16;

/// Elements to be written.
#[derive(Clone, Copy)]
pub enum Elements<'a> {
    /// Of float32.
    Floats(&'a [f32]),
    /// Of any type.
    Packed(&'a Packed),
}

impl<'a> From<&'a [f32]> for Elements<'a> {
    fn from(values: &'a [f32]) -> Self {
        Elements::Floats(values)
    }
}

impl Elements<'_> {
    /// Bytes of each element.
    pub fn dtype(self) -> Dtype {
        match self {
            Elements::Floats(_) => Dtype::F32,
            Elements::Packed(packed) => packed.dtype,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Elements::Floats(values) => size_of_val(values),
            Elements::Packed(packed) => packed.bytes,
        }
    }
}

/// The elements of a tensor of any type: their bytes, little-endian, in words because of their alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Bytes of each element.
    pub dtype: Dtype,
    /// As few words as hold the bytes; the rest of the last one is 0.
    pub words: Vec<u64>,
    /// Bytes of all elements.
    pub bytes: usize,
}

impl Packed {
    /// A tensor of bytes.
    pub fn of_bytes(content: &[u8]) -> Self {
        Self::of_elements(Dtype::U8, content)
    }

    /// A tensor of elements of this type, from their bytes.
    pub fn of_elements(dtype: Dtype, content: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let mut word = [0; size_of::<u64>()];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let words = content.chunks(size_of::<u64>()).map(word).collect();
        Packed { dtype, words, bytes: content.len() }
    }

    /// All bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut content: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        content.truncate(self.bytes);
        content
    }

    /// The elements of a tensor of float32.
    pub fn floats(&self) -> impl Iterator<Item = f32> + '_ {
        let halves = self.words.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        halves.take(self.bytes / size_of::<f32>()).map(f32::from_bits)
    }
}

/// A tensor to be written: `T` is `&[f32]` or [`Elements`]; or to be read: `T` is `&mut [f32]`; or one that was read:
/// `T` is [`Packed`].
pub struct Tensor<T> {
    /// Name of the tensor in the file.
    pub name: String,
    /// Sizes of the dimensions, of which the last is contiguous.
    pub shape: Vec<usize>,
    /// Elements, row-major.
    pub values: T,
}

impl<T> Tensor<T> {
    /// A tensor of this name and shape.
    pub fn new(name: impl Into<String>, shape: &[usize], values: T) -> Self {
        Tensor { name: name.into(), shape: shape.to_vec(), values }
    }
}

/// The text before the elements of `tensors` in a file: a length and JSON, in which `metadata` is one entry.
pub fn header<'a, T: Copy + Into<Elements<'a>>>(tensors: &[Tensor<T>], metadata: (&str, String)) -> Result<Vec<u8>> {
    let mut end = 0;
    let infos = tensors.iter().map(|Tensor { name, shape, values }| {
        let elements: Elements = (*values).into();
        let data_offsets = (end, end + elements.bytes());
        end = data_offsets.1;
        (name.clone(), TensorInfo { dtype: elements.dtype(), shape: shape.clone(), data_offsets })
    });
    let metadata = HashMap::from([(metadata.0.to_owned(), metadata.1)]);
    let about = Metadata::new(Some(metadata), infos.collect()).map_err(|error| Error::Internal(error.to_string()))?;
    let mut text = serde_json::to_vec(&about).map_err(|error| Error::Internal(error.to_string()))?;
    text.resize(text.len().next_multiple_of(LENGTH), b' ');
    if text.len() as u64 > LONGEST_HEADER - LENGTH as u64 {
        let what = format!("names, shapes and metadata of the file's tensors are {} bytes of text", text.len());
        return Err(Error::invalid(
            what,
            format!("at most {LONGEST_HEADER} bytes are supported: use fewer or shorter ones"),
        ));
    }
    Ok([&(text.len() as u64).to_le_bytes(), &text[..]].concat())
}

/// Writes a file of `tensors` after their [`header`]: whole or not at all.
pub fn write<'a, T: Copy + Into<Elements<'a>>>(path: &Path, header: &[u8], tensors: &[Tensor<T>]) -> Result<()> {
    atomic_file::replace(path, |new| write_new(new, path, header, tensors))
}

/// The same to `new`, which is to become `path`.
pub fn write_new<'a, T>(new: &Path, path: &Path, header: &[u8], tensors: &[Tensor<T>]) -> Result<()>
where
    T: Copy + Into<Elements<'a>>,
{
    let write = || {
        let mut file = File::create(new)?;
        file.write_all(header)?;
        tensors.iter().try_for_each(|tensor| pieces(tensor.values, |bytes| file.write_all(bytes)))
    };
    write().map_err(|error| Error::io(path, error))
}

/// The bytes of `elements` in a file, piece by piece.
pub fn pieces<'a>(elements: impl Into<Elements<'a>>, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let values = match elements.into() {
        Elements::Floats(values) => values,
        Elements::Packed(Packed { words, bytes, .. }) => {
            let mut left = *bytes;
            return words.chunks(PIECE).try_for_each(|words| {
                let piece: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                let count = piece.len().min(left);
                left -= count;
                take(&piece[..count])
            });
        }
    };
    let mut bytes = vec![0; values.len().min(PIECE) * size_of::<f32>()];
    values.chunks(PIECE).try_for_each(|values| {
        let bytes = &mut bytes[..size_of_val(values)];
        bytes.as_chunks_mut::<4>().0.iter_mut().zip(values).for_each(|(to, value)| *to = value.to_le_bytes());
        take(bytes)
    })
}

/// The source of a file's bytes.
trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// A file whose header has been read and agrees with its size.
pub struct TensorFile {
    path: PathBuf,
    file: Box<dyn ReadSeek>,
    header: Vec<u8>,
    about: Metadata,
}

impl TensorFile {
    /// Opens the file at `path`. Memory is allocated only for its header, whose size is limited.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        // Before it is opened: a pipe would wait for a writer.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(Error::ModelFile { path: path.to_path_buf(), what: "not a file".to_owned() });
        }
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        Self::of(path, Box::new(file), size)
    }

    /// The same for `content`, part of the file at `path`.
    pub fn within(path: &Path, content: Vec<u8>) -> Result<Self> {
        let size = content.len() as u64;
        Self::of(path, Box::new(Cursor::new(content)), size)
    }

    fn of(path: &Path, mut file: Box<dyn ReadSeek>, size: u64) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        let bad = |what: &str| Error::ModelFile { path: path.to_path_buf(), what: what.to_owned() };
        let foreign = |why: &str| bad(&format!("not a model file, or damaged ({why})"));
        let mut length = [0; LENGTH];
        let rest = size.checked_sub(LENGTH as u64).ok_or_else(|| foreign("it is shorter than its beginning"))?;
        file.read_exact(&mut length).map_err(failed)?;
        let length = u64::from_le_bytes(length);
        if length > rest.min(LONGEST_HEADER) {
            return Err(foreign("its header is too long"));
        }
        let mut header = length.to_le_bytes().to_vec();
        header.resize(LENGTH + length as usize, 0);
        file.read_exact(&mut header[LENGTH..]).map_err(failed)?;
        let about: Metadata =
            serde_json::from_slice(&header[LENGTH..]).map_err(|error| foreign(&text::name(&error.to_string())))?;
        if (rest - length) != about.data_len() as u64 {
            return Err(bad("damaged or cut (its tensors do not fill it)"));
        }
        Ok(TensorFile { path: path.to_path_buf(), file, header, about })
    }

    /// Bytes before the tensors.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// The JSON text that describes the tensors.
    pub fn description(&self) -> &[u8] {
        &self.header[LENGTH..]
    }

    /// Names of all tensors, in the order of the file.
    pub fn names(&self) -> Vec<String> {
        self.about.offset_keys()
    }

    /// Type and shape of a tensor; its elements fill its place in the file.
    pub fn tensor(&self, name: &str) -> Option<(Dtype, &[usize])> {
        self.about.info(name).map(|info| (info.dtype, &info.shape[..]))
    }

    /// The entry `key` of the header's metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.about.metadata().as_ref()?.get(key).map(String::as_str)
    }

    /// How many numbers the file holds, if all are float32: no more than it has bytes.
    pub fn numbers(&self) -> usize {
        self.about.data_len() / size_of::<f32>()
    }

    /// Passes all bytes after the header to `seen`, piece by piece.
    pub fn scan(&mut self, mut seen: impl FnMut(&[u8])) -> Result<()> {
        let mut bytes = vec![0; PIECE];
        self.rewind()?;
        for first in (0..self.about.data_len()).step_by(PIECE) {
            let bytes = &mut bytes[..PIECE.min(self.about.data_len() - first)];
            self.file.read_exact(bytes).map_err(|error| Error::io(&self.path, error))?;
            seen(bytes);
        }
        Ok(())
    }

    /// Fills `tensors`, which must be all that the file has, with finite numbers; `seen` gets all bytes after the
    /// header.
    pub fn read(&mut self, tensors: Vec<Tensor<&mut [f32]>>, mut seen: impl FnMut(&[u8])) -> Result<()> {
        let mut wanted = HashMap::with_capacity(tensors.len());
        for tensor in tensors {
            check(self.about.info(&tensor.name), &tensor)?;
            wanted.insert(tensor.name.clone(), tensor);
        }
        self.rewind()?;
        for name in self.about.offset_keys() {
            let unknown = || Error::invalid(format!("tensor {} is unknown", text::name(&name)), "");
            let tensor = wanted.remove(&name).ok_or_else(unknown)?;
            let finite =
                fill(&mut self.file, tensor.values, &mut seen).map_err(|error| Error::io(&self.path, error))?;
            if !finite {
                return Err(Error::invalid(format!("tensor {name} holds a number that is not finite"), ""));
            }
        }
        Ok(())
    }

    /// All tensors unchanged, which takes as much memory as the file has bytes; `seen` gets all bytes after the header.
    pub fn read_all(&mut self, mut seen: impl FnMut(&[u8])) -> Result<HashMap<String, Tensor<Packed>>> {
        self.rewind()?;
        let (mut tensors, mut piece) = (HashMap::new(), vec![0; PIECE * size_of::<u64>()]);
        for name in self.about.offset_keys() {
            let info =
                self.about.info(&name).ok_or_else(|| Error::Internal("a tensor without a description".into()))?;
            let bytes = info.data_offsets.1 - info.data_offsets.0;
            let mut words = Vec::with_capacity(bytes.div_ceil(size_of::<u64>()));
            for start in (0..bytes).step_by(piece.len()) {
                let count = piece.len().min(bytes - start);
                let whole = count.next_multiple_of(size_of::<u64>());
                piece[count..whole].fill(0);
                self.file.read_exact(&mut piece[..count]).map_err(|error| Error::io(&self.path, error))?;
                seen(&piece[..count]);
                words.extend(piece[..whole].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)));
            }
            let values = Packed { dtype: info.dtype, words, bytes };
            tensors.insert(name.clone(), Tensor::new(name, &info.shape, values));
        }
        Ok(tensors)
    }

    /// Goes to the first byte after the header.
    fn rewind(&mut self) -> Result<()> {
        let position = self.file.seek(SeekFrom::Start(self.header.len() as u64));
        position.map(|_| ()).map_err(|error| Error::io(&self.path, error))
    }
}

/// Whether the file has the tensor, with its type and shape.
fn check(info: Option<&TensorInfo>, wanted: &Tensor<&mut [f32]>) -> Result<()> {
    let Tensor { name, shape, values } = wanted;
    let info = info.ok_or_else(|| Error::invalid(format!("tensor {name} is missing"), ""))?;
    let (first, end) = info.data_offsets;
    if info.dtype != Dtype::F32 || info.shape != *shape || end - first != size_of_val(*values) {
        let found = text::list(info.shape.iter().map(usize::to_string), ", ");
        return Err(Error::invalid(
            format!("tensor {name} is {:?} [{found}] instead of F32 {shape:?}", info.dtype),
            "",
        ));
    }
    Ok(())
}

/// Reads the next numbers of `file` into `values`; returns whether all are finite.
fn fill(file: &mut impl Read, values: &mut [f32], seen: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    let mut bytes = vec![0; values.len().min(PIECE) * size_of::<f32>()];
    let mut finite = true;
    for values in values.chunks_mut(PIECE) {
        let bytes = &mut bytes[..size_of_val(values)];
        file.read_exact(bytes)?;
        seen(bytes);
        for (value, word) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *value = f32::from_le_bytes(*word);
            finite &= value.is_finite();
        }
    }
    Ok(finite)
}
