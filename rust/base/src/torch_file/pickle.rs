//! Pickles as data: a machine that builds values of plain types and calls nothing. Python's calls stay a
//! [`Value::Call`] for the reader to inspect, and a name that the reader does not expect is refused where it occurs.

use std::collections::HashMap;

use crate::text;

/// Largest pickle that is read, in bytes: it describes some ten thousand tensors.
pub const LONGEST: u64 = 1 << 24;
/// Largest nesting of values, deeper than in any file of PyTorch: readers traverse them recursively.
const DEEPEST: u32 = 500;
/// Largest number of references between values: a traversal follows all of them, also those to a value that many hold.
const MOST_WAYS: u64 = 1 << 24;
/// Bytes of the longest whole number.
const WIDEST: usize = 8;

/// A value, by number.
pub type Id = usize;

/// A value of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Python's None.
    None,
    /// `True`, `False`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number of 64 bits.
    Float(f64),
    /// A text, or bytes.
    Text(String),
    /// Of any values.
    List(Vec<Id>),
    /// Of any values.
    Tuple(Vec<Id>),
    /// Keys and values, also of an OrderedDict.
    Dict(Vec<(Id, Id)>),
    /// A function or class by its name, "torch FloatStorage".
    Global(String),
    /// The result that a function would make of arguments, or a class of them and of a state.
    Call {
        /// Usually a [`Value::Global`].
        function: Id,
        /// Usually a [`Value::Tuple`].
        arguments: Id,
        /// State of an object.
        state: Option<Id>,
    },
    /// Data elsewhere in the archive.
    Persistent(Id),
}

/// The values of a pickle.
pub struct Pickle {
    values: Vec<Value>,
    root: Id,
}

impl Pickle {
    /// Reads `bytes`. `known` tells whether a name may occur in it. Errors name what was found.
    pub fn read(bytes: &[u8], known: impl Fn(&str) -> bool) -> Result<Self, String> {
        let mut machine = Machine {
            bytes,
            length: bytes.len(),
            known,
            values: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        };
        while let Some(opcode) = machine.bytes.split_off_first() {
            if *opcode == b'.' {
                let root = machine.pop()?;
                let pickle = Pickle { values: machine.values, root };
                return pickle.check_depth().map(|()| pickle);
            }
            machine.step(*opcode)?;
        }
        Err("a pickle without an end".into())
    }

    /// The value of the pickle.
    pub fn root(&self) -> Id {
        self.root
    }

    /// A value.
    pub fn get(&self, id: Id) -> &Value {
        &self.values[id]
    }

    /// The text that a value is.
    pub fn text(&self, id: Id) -> Option<&str> {
        if let Value::Text(text) = self.get(id) { Some(text) } else { None }
    }

    /// The whole number that it is, if not negative.
    pub fn size(&self, id: Id) -> Option<usize> {
        if let Value::Int(number) = self.get(id) { usize::try_from(*number).ok() } else { None }
    }

    /// The values of the tuple that it is.
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        if let Value::Tuple(items) = self.get(id) { Some(items) } else { None }
    }

    /// The name that it is.
    pub fn global(&self, id: Id) -> Option<&str> {
        if let Value::Global(name) = self.get(id) { Some(name) } else { None }
    }

    /// The value of the key `name` of the dictionary that it is; the last one counts.
    pub fn entry(&self, id: Id, name: &str) -> Option<Id> {
        let Value::Dict(entries) = self.get(id) else { return None };
        entries.iter().rev().find(|(key, _)| self.text(*key) == Some(name)).map(|(_, value)| *value)
    }

    /// The function and the arguments of a call.
    pub fn call(&self, id: Id) -> Option<(&str, &[Id])> {
        let Value::Call { function, arguments, .. } = self.get(id) else { return None };
        Some((self.global(*function)?, self.tuple(*arguments)?))
    }

    fn parts(&self, id: Id) -> Vec<Id> {
        match self.get(id) {
            Value::List(items) | Value::Tuple(items) => items.clone(),
            Value::Dict(entries) => entries.iter().flat_map(|(key, value)| [*key, *value]).collect(),
            Value::Call { function, arguments, state } => [*function, *arguments].into_iter().chain(*state).collect(),
            Value::Persistent(key) => vec![*key],
            _ => Vec::new(),
        }
    }

    /// Refuses values that contain themselves, or are nested too deeply, or repeat the same values too often.
    fn check_depth(&self) -> Result<(), String> {
        const OPEN: u32 = u32::MAX;
        let mut depth = vec![0; self.values.len()];
        let mut ways = vec![0_u64; self.values.len()];
        for first in 0..self.values.len() {
            let mut open = vec![(first, false)];
            while let Some((id, visited)) = open.pop() {
                if visited {
                    let deepest = self.parts(id).iter().map(|part| depth[*part]).max().unwrap_or(0);
                    depth[id] = deepest + 1;
                    if depth[id] > DEEPEST {
                        return Err(format!("a pickle of values more than {DEEPEST} deep in one another"));
                    }
                    ways[id] = self.parts(id).iter().fold(1, |all: u64, part| all.saturating_add(ways[*part]));
                    if ways[id] > MOST_WAYS {
                        return Err(format!(
                            "a pickle of values that hold the same others more than {MOST_WAYS} times"
                        ));
                    }
                } else if depth[id] == OPEN {
                    return Err("a pickle of values that contain themselves".into());
                } else if depth[id] == 0 {
                    depth[id] = OPEN;
                    open.push((id, true));
                    for part in self.parts(id) {
                        match depth[part] {
                            0 => open.push((part, false)),
                            OPEN => return Err("a pickle of values that contain themselves".into()),
                            _ => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

struct Machine<'a, F> {
    bytes: &'a [u8],
    /// The value of the whole pickle.
    length: usize,
    known: F,
    values: Vec<Value>,
    stack: Vec<Id>,
    /// Lengths of the stack.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<F: Fn(&str) -> bool> Machine<'_, F> {
    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        self.bytes.split_off(..count).ok_or_else(|| "a pickle that is cut".to_owned())
    }

    /// A number of `count` bytes.
    fn number(&mut self, count: usize) -> Result<u64, String> {
        Ok(self.take(count)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// The bytes of a text whose length has `count` bytes.
    fn counted(&mut self, count: usize) -> Result<String, String> {
        let length = usize::try_from(self.number(count)?).unwrap_or(usize::MAX);
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn line(&mut self) -> Result<String, String> {
        let length = self.bytes.iter().position(|&byte| byte == b'\n').ok_or("a pickle that is cut")?;
        let line = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.take(1)?;
        Ok(line)
    }

    fn push(&mut self, value: Value) {
        self.stack.push(self.values.len());
        self.values.push(value);
    }

    /// The last value, which must not be below a mark.
    fn pop(&mut self) -> Result<Id, String> {
        let bottom = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= bottom {
            return Err("a pickle that takes a value that it does not have".into());
        }
        self.stack.pop().ok_or_else(|| "a pickle without values".to_owned())
    }

    /// The values after the last mark, which is removed.
    fn marked(&mut self) -> Result<Vec<Id>, String> {
        let mark = self.marks.pop().ok_or("a pickle that takes values from a mark that it does not have")?;
        Ok(self.stack.split_off(mark))
    }

    fn last(&mut self, count: usize) -> Result<Vec<Id>, String> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        Ok(items)
    }

    fn global(&mut self) -> Result<(), String> {
        let name = format!("{} {}", self.line()?, self.line()?);
        if !(self.known)(&name) {
            return Err(format!("it calls for {}, which is not run", text::name(&name.replace(' ', "."))));
        }
        self.push(Value::Global(name));
        Ok(())
    }

    /// A function's result, or an object.
    fn call(&mut self) -> Result<(), String> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let is_dict = matches!(&self.values[function], Value::Global(name) if name == "collections OrderedDict");
        match is_dict && self.values[arguments] == Value::Tuple(Vec::new()) {
            true => self.push(Value::Dict(Vec::new())),
            false => self.push(Value::Call { function, arguments, state: None }),
        }
        Ok(())
    }

    /// Gives an object its state; for a dictionary the state is attributes, which nothing reads.
    fn build(&mut self) -> Result<(), String> {
        let given = self.pop()?;
        let object = *self.stack.last().ok_or("a pickle without values")?;
        match &mut self.values[object] {
            Value::Call { state, .. } => *state = Some(given),
            Value::Dict(_) => {}
            _ => return Err("a pickle that gives a state to what is no object".into()),
        }
        Ok(())
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), String> {
        let list = self.stack.last().map(|&id| &mut self.values[id]);
        let Some(Value::List(list)) = list else { return Err("a pickle that appends to what is no list".into()) };
        list.extend(items);
        Ok(())
    }

    fn set(&mut self, items: &[Id]) -> Result<(), String> {
        let (pairs, rest) = items.as_chunks::<2>();
        let dict = self.stack.last().map(|&id| &mut self.values[id]);
        let (Some(Value::Dict(dict)), []) = (dict, rest) else {
            return Err("a pickle that sets entries of what is no dictionary".into());
        };
        dict.extend(pairs.iter().map(|[key, value]| (*key, *value)));
        Ok(())
    }

    fn remember(&mut self, bytes: usize) -> Result<(), String> {
        let (place, value) = (self.number(bytes)? as u32, self.stack.last().copied().ok_or("a pickle without values")?);
        // Places are counted from 0; LibTorch allocates memory for all of them up to this one.
        if place as usize >= self.length {
            return Err(format!("a pickle that remembers a value as number {place}, more than it can have"));
        }
        self.memo.insert(place, value);
        Ok(())
    }

    fn recall(&mut self, bytes: usize) -> Result<(), String> {
        let place = self.number(bytes)? as u32;
        let value = self.memo.get(&place).ok_or("a pickle that recalls what it did not remember")?;
        self.stack.push(*value);
        Ok(())
    }

    /// A whole number of any length.
    fn long(&mut self) -> Result<i64, String> {
        let count = self.number(1)? as usize;
        if count > WIDEST {
            return Err(format!("a whole number of {count} bytes"));
        }
        let (number, unused) = (self.number(count)?, 64 - 8 * count as u32);
        Ok(if count == 0 { 0 } else { (number << unused) as i64 >> unused })
    }

    fn step(&mut self, opcode: u8) -> Result<(), String> {
        match opcode {
            0x80 => return self.protocol(),
            b'(' => self.marks.push(self.stack.len()),
            b']' => self.push(Value::List(Vec::new())),
            b'}' => self.push(Value::Dict(Vec::new())),
            b'a' => {
                let item = self.pop()?;
                return self.append(vec![item]);
            }
            b'e' => {
                let items = self.marked()?;
                return self.append(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.set(&[key, value]);
            }
            b'u' => {
                let items = self.marked()?;
                return self.set(&items);
            }
            b'c' => return self.global(),
            b'R' | 0x81 => return self.call(),
            b'b' => return self.build(),
            b'q' => return self.remember(1),
            b'r' => return self.remember(4),
            b'h' => return self.recall(1),
            b'j' => return self.recall(4),
            _ => {
                let value = self.value(opcode)?;
                self.push(value);
            }
        }
        Ok(())
    }

    fn protocol(&mut self) -> Result<(), String> {
        match self.number(1)? {
            2 => Ok(()),
            other => Err(format!("a pickle of protocol {other}: leave out pickle_protocol when it is written")),
        }
    }

    /// The value that an instruction makes, which does not grow afterwards.
    fn value(&mut self, opcode: u8) -> Result<Value, String> {
        Ok(match opcode {
            b'N' => Value::None,
            0x88 | 0x89 => Value::Bool(opcode == 0x88),
            b'J' => Value::Int((self.number(4)? as u32 as i32).into()),
            b'K' => Value::Int(self.number(1)? as i64),
            b'M' => Value::Int(self.number(2)? as i64),
            0x8a => Value::Int(self.long()?),
            b'G' => Value::Float(f64::from_bits(self.number(8)?.swap_bytes())),
            b'X' | b'T' | b'B' => Value::Text(self.counted(4)?),
            b'U' | b'C' => Value::Text(self.counted(1)?),
            b')' => Value::Tuple(Vec::new()),
            b't' => Value::Tuple(self.marked()?),
            0x85..=0x87 => Value::Tuple(self.last(usize::from(opcode - 0x84))?),
            b'Q' => Value::Persistent(self.pop()?),
            other => return Err(format!("a pickle with the instruction {other:#04x}, which PyTorch does not write")),
        })
    }
}
