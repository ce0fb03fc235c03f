package assay.bridge;

/** A store could not be opened: what kind of failure it is, and a sentence that says what to do. */
final class Failure extends Exception {
  private static final long serialVersionUID = 1L;

  /** The native side's error: its name in lower case. */
  final String kind;

  Failure(String kind, String text) {
    super(text, null, false, false);
    this.kind = kind;
  }

  static Failure unsupported(String text) {
    return new Failure("unsupported", text);
  }

  static Failure contents(String text) {
    return new Failure("contents", text);
  }

  static Failure failed(String text) {
    return new Failure("failed", text);
  }

  /** Kind and text in one string, as every call that may fail answers; empty if nothing failed. */
  String told() {
    return kind + '\0' + getMessage();
  }

  /** The exception with its class, and what it says was its cause. */
  static String describe(Throwable thrown) {
    StringBuilder text = new StringBuilder(thrown.toString());
    Throwable cause = thrown.getCause();
    for (int depth = 0; cause != null && depth < 8; depth++) {
      if (!text.toString().contains(cause.toString())) {
        text.append(", because of ").append(cause);
      }
      cause = cause.getCause();
    }
    return text.toString();
  }
}
