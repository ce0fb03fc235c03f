//! A binding in the virtual machine, before its first operation.

use assay_driver_kit::StoreErrors;
use assay_model::Setting;
use assay_store::OpenError;
use jni::objects::{JObject, JObjectArray, JString, JValue};
use jni::refs::Global;
use jni::strings::JNIStr;
use jni::{Env, JavaVM, jni_sig, jni_str};

use super::border::Worker;

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    kind: String,
    text: String,
}

impl Trouble {
    pub(super) fn failed(text: String) -> Trouble {
        Trouble { kind: "failed".into(), text }
    }

    pub(super) fn unsupported(text: String) -> Trouble {
        Trouble { kind: "unsupported".into(), text }
    }

    /// As the error of the store that calls itself `store`.
    pub(super) fn of(self, store: &str) -> OpenError {
        let (store, reason) = (store.to_owned(), self.text);
        match self.kind.as_str() {
            "unsupported" => store.unsupported(reason),
            "contents" => store.contents(reason),
            _ => store.failed(reason),
        }
    }

    /// The trouble in what Java answered: a kind, a zero, a text.
    fn describe(answer: &str) -> Trouble {
        let (kind, text) = answer.split_once('\0').unwrap_or(("failed", answer));
        Trouble { kind: kind.into(), text: text.into() }
    }
}

impl From<jni::errors::Error> for Trouble {
    fn from(error: jni::errors::Error) -> Trouble {
        Trouble::failed(format!("Java does not do what it must: {error}"))
    }
}

/// One binding with its properties: `assay.bridge.Store`.
pub(super) struct Binding {
    machine: JavaVM,
    store: Global<JObject<'static>>,
}

impl Binding {
    /// Opens the binding that `reported` names, see `assay.bridge.Door.open`.
    ///
    /// # Errors
    /// If its class is missing, there twice, or none that can be used.
    pub(super) fn open(machine: JavaVM, reported: &str) -> Result<Binding, Trouble> {
        let store = machine.attach_current_thread(|env| -> Result<_, Trouble> {
            let reported = env.new_string(reported)?;
            let pair = env.call_static_method(
                jni_str!("assay/bridge/Door"),
                jni_str!("open"),
                jni_sig!("(Ljava/lang/String;)[Ljava/lang/Object;"),
                &[JValue::Object(&reported)],
            )?;
            let pair = env.cast_local::<JObjectArray>(pair.l()?)?;
            let failure = pair.get_element(env, 0)?;
            let failure = text(env, failure)?;
            if !failure.is_empty() {
                return Err(Trouble::describe(&failure));
            }
            let store = pair.get_element(env, 1)?;
            Ok(env.new_global_ref(store)?)
        })?;
        Ok(Binding { machine, store })
    }

    /// Names and values of the settings that are needed before the first operation.
    pub(super) fn traits(&self) -> Result<Vec<(String, String)>, Trouble> {
        let lines = self.invoke(jni_str!("traits"), None)?;
        let pairs = lines.lines().filter_map(|line| line.split_once('='));
        Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Makes tables ready, see `assay.bridge.Store.prepare`.
    pub(super) fn prepare(&self, reported: &str) -> Result<(), Trouble> {
        done(&self.invoke(jni_str!("prepare"), Some(reported))?)
    }

    pub(super) fn clear(&self) -> Result<(), Trouble> {
        done(&self.invoke(jni_str!("clear"), None)?)
    }

    pub(super) fn close(&self) -> Result<(), Trouble> {
        done(&self.invoke(jni_str!("close"), None)?)
    }

    pub(super) fn keep_note(&self, note: &str) -> Result<(), Trouble> {
        done(&self.invoke(jni_str!("keepNote"), Some(note))?)
    }

    pub(super) fn note(&self) -> Result<Option<String>, Trouble> {
        let answer = self.invoke(jni_str!("note"), None)?;
        match answer.as_str() {
            "-" => Ok(None),
            answer => match answer.strip_prefix('+') {
                Some(note) => Ok(Some(note.to_owned())),
                None => Err(Trouble::describe(answer)),
            },
        }
    }

    pub(super) fn settings(&self) -> Result<Vec<Setting>, Trouble> {
        let answer = self.invoke(jni_str!("settings"), None)?;
        let reported = answer.strip_prefix('+').ok_or_else(|| Trouble::describe(&answer))?;
        let words: Vec<&str> = reported.split('\0').collect();
        let setting = |words: &[&str]| Setting::new(words[0], words[1], words[2]);
        Ok(words.chunks_exact(3).map(setting).collect())
    }

    /// An instance for the thread that calls.
    ///
    /// # Errors
    /// If the binding does not let itself be initialised.
    pub(super) fn worker(&self) -> Result<Worker, Trouble> {
        let worker = self.machine.attach_current_thread(|env| -> Result<_, Trouble> {
            let worker = env.call_method(
                &self.store,
                jni_str!("open"),
                jni_sig!("()Lassay/bridge/Lane;"),
                &[],
            )?;
            let worker = env.new_global_ref(worker.l()?)?;
            let failure = env.call_method(
                &worker,
                jni_str!("failure"),
                jni_sig!("()Ljava/lang/String;"),
                &[],
            )?;
            done(&text(env, failure.l()?)?)?;
            Ok(worker)
        })?;
        Ok(Worker::new(&self.machine, worker)?)
    }

    /// Calls a method that takes a text or nothing, and answers with one.
    fn invoke(&self, method: &'static JNIStr, argument: Option<&str>) -> Result<String, Trouble> {
        self.machine.attach_current_thread(|env| {
            let answer = match argument {
                Some(argument) => {
                    let argument = env.new_string(argument)?;
                    let sig = jni_sig!("(Ljava/lang/String;)Ljava/lang/String;");
                    env.call_method(&self.store, method, sig, &[JValue::Object(&argument)])?
                }
                None => {
                    env.call_method(&self.store, method, jni_sig!("()Ljava/lang/String;"), &[])?
                }
            };
            text(env, answer.l()?)
        })
    }
}

fn text(env: &Env<'_>, object: JObject<'_>) -> Result<String, Trouble> {
    let string = env.cast_local::<JString>(object)?;
    Ok(string.try_to_string(env)?)
}

fn done(answer: &str) -> Result<(), Trouble> {
    if answer.is_empty() { Ok(()) } else { Err(Trouble::describe(answer)) }
}
