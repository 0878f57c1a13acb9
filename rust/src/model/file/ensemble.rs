//! The file of an ensemble: a safetensors file whose tensors are the bytes of its members' model files, each with its checksum.

use std::fs;
use std::path::Path;

use crate::atomic_file;
use crate::error::{Error, Result};
use crate::graph::CustomActivation;
use crate::model::Model;
use crate::tensor_file::{self, Dtype, Elements, Packed, Tensor, TensorFile};
use crate::text;

/// Under which the version stands in the file's metadata.
pub(super) const KEY: &str = "cladtorch_ensemble";
const VERSION: &str = "1";
/// Members beyond which a file is a mistake.
const MOST: usize = 10_000;

fn name(member: usize) -> String {
    format!("member.{member}")
}

/// Writes `models` to `path`: whole or not at all.
pub fn save_all(models: &[&Model], path: &Path) -> Result<()> {
    atomic_file::replace(path, |new| {
        let failed = |error| Error::io(path, error);
        let mut own = new.as_os_str().to_owned();
        own.push(".member");
        let own = Path::new(&own);
        let content = |model: &&Model| {
            let content = model.save(own).and_then(|()| fs::read(own).map_err(failed));
            let _ = fs::remove_file(own); // which is not there after an error
            Ok(Packed::of_bytes(&content?))
        };
        let contents = models.iter().map(content).collect::<Result<Vec<Packed>>>()?;
        let tensor = |(member, content): (usize, &'_ Packed)| (name(member), content.bytes);
        let names: Vec<_> = contents.iter().enumerate().map(tensor).collect();
        let tensors: Vec<_> = names
            .into_iter()
            .zip(&contents)
            .map(|((name, bytes), content)| Tensor::new(name, &[bytes], Elements::Packed(content)))
            .collect();
        let header = tensor_file::header(&tensors, (KEY, VERSION.to_owned()))?;
        tensor_file::write_new(new, path, &header, &tensors)
    })
}

/// Reads the models of an ensemble. Every size in the file and every checksum is checked; `own` is the activation of all of them,
/// if they have one of the user's own.
pub fn load_all(path: &Path, own: Option<&CustomActivation>) -> Result<Vec<Model>> {
    let bad = |what: &str| Error::ModelFile { path: path.to_path_buf(), what: what.to_owned() };
    let mut file = TensorFile::open(path)?;
    match file.metadata(KEY) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(bad(&format!("version {}, this CladTorch reads version {VERSION}", text::name(other))));
        }
        None => return Err(bad("no ensemble: CladTorch::Model::Load reads the file of one model")),
    }
    let count = file.names().len();
    let is_member =
        |member| file.tensor(&name(member)).is_some_and(|(dtype, shape)| dtype == Dtype::U8 && shape.len() == 1);
    if count == 0 || count > MOST || !(0..count).all(is_member) {
        return Err(bad("damaged: it does not hold the files of models"));
    }
    let mut contents = file.read_all(|_| ())?;
    let member = |member: usize| {
        let content = contents.remove(&name(member)).ok_or_else(|| Error::Internal("a member is missing".into()))?;
        Model::of_file(TensorFile::within(path, content.values.to_bytes())?, path, own.cloned())
    };
    (0..count).map(member).collect()
}
