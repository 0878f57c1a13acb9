//! ROOT's compression: a record is a row of blocks, each with a header of 9 bytes (algorithm, method, compressed and
//! uncompressed size, 3 bytes each, little-endian) and at most 16 MiB.

use std::ops::Range;

use liblzma::stream::{Action, Status, Stream};
use xxhash_rust::xxh64::xxh64;

use super::room;

const HEADER: usize = 9;
/// `L4` blocks begin with the xxHash64 of the rest, big-endian.
const CHECKSUM: usize = 8;
/// Zlib's number for "deflate", the only method of `ZL` and `CS` blocks.
const DEFLATED: u8 = 8;
/// Memory that liblzma may allocate to read a block. ROOT's strongest level needs a dictionary of 64 MiB.
const LZMA_MEMORY: u64 = 128 << 20;

/// The compression of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `ZL`
    Zlib,
    /// `CS`: deflate without zlib's header and checksum, written by ROOT's first versions.
    Deflate,
    /// `XZ`
    Lzma,
    /// `L4`
    Lz4,
    /// `ZS`
    Zstd,
}

/// The header of a block.
struct Block {
    algorithm: Algorithm,
    compressed: usize,
    uncompressed: usize,
}

impl Block {
    fn parse(bytes: &[u8]) -> Result<Block, String> {
        let header = bytes.get(..HEADER).ok_or("it ends within the header of a compressed block")?;
        let size =
            |at: usize| usize::from(header[at]) | usize::from(header[at + 1]) << 8 | usize::from(header[at + 2]) << 16;
        let algorithm = match (&header[..2], header[2]) {
            (b"ZL", DEFLATED) => Algorithm::Zlib,
            (b"CS", DEFLATED) => Algorithm::Deflate,
            (b"XZ", _) => Algorithm::Lzma,
            (b"L4", _) => Algorithm::Lz4,
            (b"ZS", _) => Algorithm::Zstd,
            (name, method) => {
                return Err(format!("compression \"{}\" with method {method} is unknown", name.escape_ascii()));
            }
        };
        Ok(Block { algorithm, compressed: size(3), uncompressed: size(6) })
    }
}

/// Calls `each` with the blocks of `from`, which hold `length` bytes together: their compression, their bytes, and the
/// place of the uncompressed ones.
fn for_each_block(
    mut from: &[u8],
    length: usize,
    mut each: impl FnMut(Algorithm, &[u8], Range<usize>) -> Result<(), String>,
) -> Result<(), String> {
    let mut done = 0;
    while done < length {
        let block = Block::parse(from)?;
        let bytes = from[HEADER..].get(..block.compressed).ok_or_else(|| {
            format!("a compressed block claims {} of the {} bytes there are", block.compressed, from.len() - HEADER)
        })?;
        let end = done + block.uncompressed;
        if block.uncompressed == 0 || end > length {
            return Err(format!("compressed blocks hold {end} bytes instead of {length}"));
        }
        each(block.algorithm, bytes, done..end)?;
        from = &from[HEADER + block.compressed..];
        done = end;
    }
    Ok(())
}

/// Decompresses records; its state is kept from one to the next. One for each thread.
pub struct Codecs {
    deflate: libdeflater::Decompressor,
    zstd: zstd_safe::DCtx<'static>,
}

impl Default for Codecs {
    fn default() -> Self {
        Codecs { deflate: libdeflater::Decompressor::new(), zstd: zstd_safe::DCtx::create() }
    }
}

impl Codecs {
    /// Decompresses all blocks of `from`, which hold `length` bytes. `into` grows block by block, so that a false
    /// length does not allocate memory.
    pub fn decompress<'a>(&mut self, from: &[u8], length: usize, into: &'a mut Vec<u8>) -> Result<&'a [u8], String> {
        for_each_block(from, length, |algorithm, bytes, place| {
            self.block(algorithm, bytes, &mut room(into, place.end)?[place])
        })?;
        Ok(&into[..length])
    }

    /// The same into existing memory.
    pub fn decompress_into(&mut self, from: &[u8], to: &mut [u8]) -> Result<(), String> {
        for_each_block(from, to.len(), |algorithm, bytes, place| self.block(algorithm, bytes, &mut to[place]))
    }

    fn block(&mut self, algorithm: Algorithm, from: &[u8], to: &mut [u8]) -> Result<(), String> {
        let written = self.written(algorithm, from, to).map_err(|what| format!("{algorithm:?}: {what}"))?;
        if written == to.len() {
            Ok(())
        } else {
            Err(format!("{algorithm:?}: {written} bytes instead of {}", to.len()))
        }
    }

    fn written(&mut self, algorithm: Algorithm, from: &[u8], to: &mut [u8]) -> Result<usize, String> {
        match algorithm {
            Algorithm::Zlib => self.deflate.zlib_decompress(from, to).map_err(|error| error.to_string()),
            Algorithm::Deflate => self.deflate.deflate_decompress(from, to).map_err(|error| error.to_string()),
            Algorithm::Zstd => {
                self.zstd.decompress(to, from).map_err(|code| zstd_safe::get_error_name(code).to_owned())
            }
            Algorithm::Lz4 => lz4(from, to),
            Algorithm::Lzma => lzma(from, to),
        }
    }
}

fn lz4(from: &[u8], to: &mut [u8]) -> Result<usize, String> {
    let (checksum, bytes) = from.split_first_chunk::<CHECKSUM>().ok_or("it is shorter than its checksum")?;
    if xxh64(bytes, 0) != u64::from_be_bytes(*checksum) {
        return Err("the checksum is wrong".to_owned());
    }
    let size = i32::try_from(to.len()).map_err(|error| error.to_string())?;
    lz4::block::decompress_to_buffer(bytes, Some(size), to).map_err(|error| error.to_string())
}

fn lzma(from: &[u8], to: &mut [u8]) -> Result<usize, String> {
    let mut stream = Stream::new_stream_decoder(LZMA_MEMORY, 0).map_err(|error| error.to_string())?;
    match stream.process(from, to, Action::Finish) {
        Ok(Status::StreamEnd) => Ok(stream.total_out() as usize),
        Ok(_) => Err("the block does not end where it should".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
