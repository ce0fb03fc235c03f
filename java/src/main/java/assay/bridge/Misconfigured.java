package assay.bridge;

import site.ycsb.DBException;

/** A property is invalid: nothing is wrong with the store, somebody has to write another value. */
public final class Misconfigured extends DBException {
  private static final long serialVersionUID = 1L;

  /** What the property is, and what it can be. */
  public Misconfigured(String text) {
    super(text);
  }
}
