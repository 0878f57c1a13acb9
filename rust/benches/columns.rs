//! The inner loops of the fast reader: byte order and type, columns into rows, and each codec.

use std::hint::black_box;

use cladtorch::columns::branch::Element;
use cladtorch::columns::codec::Codecs;
use cladtorch::kernels::{self, Column, Lists};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use liblzma::stream::{Action, Check, Stream};

/// Numbers in a basket of 32 kB, ROOT's default, and columns of the Higgs sample.
const ROWS: usize = 8000;
const COLUMNS: usize = 28;

fn numbers() -> Vec<f32> {
    (0..ROWS).map(|i| (i as f32 * 0.37).sin() * 50.0).collect()
}

fn convert(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("convert");
    let mut values = vec![0.0; ROWS];
    for element in Element::ALL {
        let bytes = vec![1; ROWS * element.size()];
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("{element:?}"), |bencher| {
            bencher.iter(|| kernels::convert(element as u8, black_box(&bytes), &mut values));
        });
    }
}

fn interleave(criterion: &mut Criterion) {
    let bytes: Vec<u8> = numbers().into_iter().flat_map(f32::to_be_bytes).collect();
    let bytes = vec![bytes; COLUMNS];
    let mut rows = vec![0.0; ROWS * COLUMNS];
    let mut group = criterion.benchmark_group("interleave");
    group.throughput(Throughput::Bytes((ROWS * COLUMNS * size_of::<f32>()) as u64));
    for (order, big_endian) in [("as the processor has them", false), ("big-endian", true)] {
        let columns: Vec<Column> = bytes.iter().map(|bytes| Column { bytes, big_endian }).collect();
        group.bench_function(BenchmarkId::new(order, COLUMNS), |bencher| {
            bencher.iter(|| kernels::interleave(black_box(&columns), 0, COLUMNS, &mut rows));
        });
    }
}

/// Lists of 0 to 16 numbers behind the header of a vector, padded to 16.
fn scatter(criterion: &mut Criterion) {
    const HEADER: usize = 10;
    let ends: Vec<usize> = (0..=ROWS)
        .scan(0, |end, row| Some(std::mem::replace(end, *end + HEADER + row * 7 % 17 * size_of::<f32>())))
        .collect();
    let entries = vec![1; ends[ROWS]];
    let lists = Lists { entries: &entries, ends: &ends, before: HEADER, after: 0 };
    let mut rows = vec![0.0; ROWS * 16];
    let mut group = criterion.benchmark_group("scatter");
    group.throughput(Throughput::Bytes(entries.len() as u64));
    group.bench_function("lists of 8 in rows of 16", |bencher| {
        bencher.iter(|| kernels::scatter(Element::F32 as u8, black_box(lists), 16, 0.0, &mut rows));
    });
}

/// A block as ROOT writes it, with the library's own compressor.
fn block(name: &[u8; 2], bytes: &[u8]) -> Vec<u8> {
    let method = if matches!(name, b"ZL" | b"CS") { 8 } else { 1 };
    let mut packed = vec![0; 2 * bytes.len()];
    let mut deflate = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let length = match name {
        b"ZL" => deflate.zlib_compress(bytes, &mut packed).unwrap(),
        b"CS" => deflate.deflate_compress(bytes, &mut packed).unwrap(),
        b"ZS" => zstd_safe::compress(packed.as_mut_slice(), bytes, 5).unwrap(),
        b"L4" => {
            let lz4 = lz4::block::compress_to_buffer(bytes, None, false, &mut packed[8..]).unwrap();
            let checksum = xxhash_rust::xxh64::xxh64(&packed[8..8 + lz4], 0);
            packed[..8].copy_from_slice(&checksum.to_be_bytes());
            lz4 + 8
        }
        _ => {
            let mut stream = Stream::new_easy_encoder(7, Check::Crc32).unwrap();
            stream.process(bytes, &mut packed, Action::Finish).unwrap();
            stream.total_out() as usize
        }
    };
    let size = |n: usize| n.to_le_bytes()[..3].to_vec();
    [name.to_vec(), vec![method], size(length), size(bytes.len()), packed[..length].to_vec()].concat()
}

fn codecs(criterion: &mut Criterion) {
    let bytes: Vec<u8> = numbers().iter().flat_map(|number| number.to_be_bytes()).collect();
    let (mut codecs, mut scratch) = (Codecs::default(), Vec::new());
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    for name in [b"ZL", b"CS", b"XZ", b"L4", b"ZS"] {
        let block = block(name, &bytes);
        assert_eq!(codecs.decompress(&block, bytes.len(), &mut scratch), Ok(bytes.as_slice()));
        group.bench_function(String::from_utf8_lossy(name), |bencher| {
            bencher.iter(|| codecs.decompress(black_box(&block), bytes.len(), &mut scratch).map(<[u8]>::len));
        });
    }
}

criterion_group!(benches, convert, interleave, scatter, codecs);
criterion_main!(benches);
