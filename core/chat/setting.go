package chat

// ModelSetting is the key of the [SettingNote] with the name of the model that answers in a room. It is not part of prompts.
const ModelSetting = "model"
