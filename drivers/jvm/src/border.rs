//! The calls of one worker into the virtual machine: the only unsafe code about Java's memory.
//!
//! A request is written once into memory that Java sees, a method is called whose identity was
//! looked up before, and what it has left in another such memory is the answer.

use assay_model::{Fields, Kind, Reason};
use assay_store::Request;
use jni::objects::{JByteBuffer, JObject};
use jni::refs::Global;
use jni::signature::{Primitive, ReturnType};
use jni::strings::JNIStr;
use jni::sys::jvalue;
use jni::{Env, JavaVM, jni_sig, jni_str};

use jni::ids::JMethodID;

/// Stands before each value: the number of its field and its length.
const HEAD_BYTES: usize = 8;
/// Added to the kind of an operation whose key is ASCII.
const ASCII: i32 = 1 << 8;
/// Set in an answer if its memory is another one than before.
const GROWN: i64 = 1 << 8;
const CODE: i64 = 0xFF;
const EVERY_FIELD: i32 = -1;
const EVERY_FIELD_BY_NAME: i32 = -2;

/// An instance of a binding, which belongs to the thread that made it: `assay.bridge.Lane`.
pub(super) struct Worker {
    machine: JavaVM,
    worker: Global<JObject<'static>>,
    invoke: JMethodID,
    request: Area,
    answer: Area,
}

/// Memory of a direct byte buffer.
struct Area {
    /// Keeps the memory where it is.
    _buffer: Global<JByteBuffer<'static>>,
    /// Makes the worker `!Send`, so that it stays on its thread.
    begin: *mut u8,
    bytes: usize,
}

impl Area {
    fn of(env: &Env<'_>, buffer: JObject<'_>) -> jni::errors::Result<Area> {
        let buffer = env.cast_local::<JByteBuffer>(buffer)?;
        let begin = env.get_direct_buffer_address(&buffer)?;
        let bytes = env.get_direct_buffer_capacity(&buffer)?;
        Ok(Area { _buffer: env.new_global_ref(buffer)?, begin, bytes })
    }

    #[allow(unsafe_code, reason = "Java has the other end of this memory; decision 0020")]
    fn bytes(&self) -> &[u8] {
        // SAFETY:
        // * Java has given us this address with this capacity for a direct buffer, whose memory is
        //   there as long as the buffer is, which our global reference sees to. The collector moves
        //   objects, never this memory. It is initialised: Java fills new buffers with zeros.
        // * Nobody writes to it while the slice lives: `Lane.java`, which hands the buffer to
        //   nobody else, does so within `invoke`, which borrows the worker mutably, on this thread.
        unsafe { std::slice::from_raw_parts(self.begin, self.bytes) }
    }

    #[allow(unsafe_code, reason = "Java has the other end of this memory; decision 0020")]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; and `Lane.java` reads from it within `invoke` only.
        unsafe { std::slice::from_raw_parts_mut(self.begin, self.bytes) }
    }
}

impl Worker {
    /// `worker` was opened by the thread that calls, which is attached to the machine.
    ///
    /// # Errors
    /// If the class is not ours.
    pub(super) fn new(
        machine: &JavaVM,
        worker: Global<JObject<'static>>,
    ) -> jni::errors::Result<Worker> {
        machine.attach_current_thread(|env| {
            let class = env.get_object_class(&worker)?;
            let invoke = env.get_method_id(class, jni_str!("ask"), jni_sig!("(IIIIII)J"))?;
            let request = buffer(env, &worker, jni_str!("request"))?;
            let answer = buffer(env, &worker, jni_str!("answer"))?;
            Ok(Worker { machine: machine.clone(), worker, invoke, request, answer })
        })
    }

    /// Does one operation: a code of `assay.bridge.Codes` with the rows that came.
    ///
    /// # Errors
    /// If the request cannot be put into Java's words; then nothing was done.
    pub(super) fn invoke(&mut self, request: &Request<'_>) -> Result<(u8, &[u8]), Reason> {
        let key = std::str::from_utf8(request.key).map_err(|_| Reason::Malformed)?;
        let ascii = if key.is_ascii() { ASCII } else { 0 };
        let field = match request.fields {
            Fields::All => EVERY_FIELD,
            Fields::Named => EVERY_FIELD_BY_NAME,
            Fields::One(number) => i32::from(number),
        };
        let limit = i32::try_from(request.limit).unwrap_or(i32::MAX);
        self.write(request)?;
        let numbers = [
            kind(request.kind) | ascii,
            i32::from(request.table),
            field,
            limit,
            key.len() as i32,
            request.values.len() as i32,
        ];
        let reported = self.call(numbers);
        let Ok(reported) = reported else { return Ok((super::meaning::code::THROWN, &[])) };
        if reported & GROWN != 0 {
            let (machine, worker) = (&self.machine, &self.worker);
            let grown =
                machine.attach_current_thread(|env| buffer(env, worker, jni_str!("answer")));
            let Ok(grown) = grown else { return Ok((super::meaning::code::GARBLED, &[])) };
            self.answer = grown;
        }
        let rows = self.answer.bytes().get(..(reported >> 32) as usize).unwrap_or_default();
        Ok(((reported & CODE) as u8, rows))
    }

    #[allow(unsafe_code, reason = "a checked call looks its method up each time; decision 0020")]
    fn call(&self, numbers: [i32; 6]) -> jni::errors::Result<i64> {
        let arguments = numbers.map(|number| jvalue { i: number });
        let long = ReturnType::Primitive(Primitive::Long);
        self.machine.with_top_local_frame(|env| {
            // SAFETY: `self.invoke` is the method `long ask(int, int, int, int, int, int)` of the
            // class of `self.worker`, which is alive as long as the worker is; six ints are passed,
            // a long is taken.
            let reported =
                unsafe { env.call_method_unchecked(&self.worker, self.invoke, long, &arguments) };
            if reported.is_err() {
                // `ask` catches what bindings throw; what comes through must not stay pending.
                env.exception_clear();
            }
            reported?.j()
        })
    }

    /// Writes key and values; makes room for them if there is none.
    fn write(&mut self, request: &Request<'_>) -> Result<(), Reason> {
        let values = request.values.iter().map(|(_, value)| HEAD_BYTES + value.len());
        let needed = request.key.len() + values.sum::<usize>();
        if needed > self.request.bytes {
            self.grow(needed)?;
        }
        let area = self.request.bytes_mut();
        let (into, mut rest) = area.split_at_mut(request.key.len());
        into.copy_from_slice(request.key);
        for (number, value) in request.values.iter() {
            let (head, behind) = rest.split_at_mut(HEAD_BYTES);
            head[..4].copy_from_slice(&u32::from(number).to_le_bytes());
            head[4..].copy_from_slice(&(value.len() as u32).to_le_bytes());
            let (into, behind) = behind.split_at_mut(value.len());
            into.copy_from_slice(value);
            rest = behind;
        }
        Ok(())
    }

    fn grow(&mut self, needed: usize) -> Result<(), Reason> {
        let doubled = needed.checked_next_power_of_two().unwrap_or(needed);
        let bytes = i32::try_from(doubled).or_else(|_| i32::try_from(needed));
        let bytes = bytes.map_err(|_| Reason::Malformed)?;
        let (machine, worker) = (&self.machine, &self.worker);
        let grown = machine.attach_current_thread(|env| {
            let sig = jni_sig!("(I)Ljava/nio/ByteBuffer;");
            let buffer = env.call_method(worker, jni_str!("grow"), sig, &[bytes.into()])?;
            Area::of(env, buffer.l()?)
        });
        // Java has no room for it.
        self.request = grown.map_err(|_: jni::errors::Error| Reason::Full)?;
        Ok(())
    }
}

impl Drop for Worker {
    /// Has the binding clean up, on the thread that initialised it.
    fn drop(&mut self) {
        let closed = self.machine.attach_current_thread(|env| {
            env.call_method(&self.worker, jni_str!("close"), jni_sig!("()V"), &[])?.v()
        });
        // The Java side prints the binding's exception; the worker is gone in any case.
        let _: jni::errors::Result<()> = closed;
    }
}

fn buffer(
    env: &mut Env<'_>,
    worker: &Global<JObject<'static>>,
    method: &'static JNIStr,
) -> jni::errors::Result<Area> {
    let buffer = env.call_method(worker, method, jni_sig!("()Ljava/nio/ByteBuffer;"), &[])?;
    Area::of(env, buffer.l()?)
}

/// The numbers of `Lane.java`.
fn kind(kind: Kind) -> i32 {
    match kind {
        Kind::Read => 0,
        Kind::Update => 1,
        Kind::Insert => 2,
        Kind::Scan => 3,
        Kind::Delete => 4,
        // No record carries it; Java refuses it as not implemented.
        Kind::Commit | Kind::Rollback => 5,
    }
}
